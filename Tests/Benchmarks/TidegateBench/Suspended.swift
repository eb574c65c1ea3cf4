import Glibc
import Tidegate

/// Measures the memory of tasks that were created and never resumed.
struct Suspended {
    let count: Int

    func run() async throws {
        let monitor = try Monitor()
        let request = try TaskRequest(url: "http://127.0.0.1:9/unused")
        try await self.settle(monitor)
        let before = try Self.anonymousBytes()
        let tasks = (0..<self.count).map { _ in monitor.session.makeTask(request) }
        try await self.settle(monitor)
        let result: JSONValue = [
            "tasks": .number(Double(tasks.count)),
            "bytesEach": .number((try Self.anonymousBytes() - before) / Double(self.count)),
        ]
        print(result)
        await monitor.stop()
    }

    // The session handles commands in order: once this task has ended, it knows all earlier ones.
    private func settle(_ monitor: Monitor) async throws {
        let last = monitor.session.makeTask(try TaskRequest(url: "http://127.0.0.1:9/unused"))
        last.cancel()
        _ = await last.result()
    }

    /// The process's anonymous memory (proc_pid_status(5)).
    static func anonymousBytes() throws -> Double {
        let line = try String(contentsOfStatus: "RssAnon:")
        return (Double(line) ?? 0) * 1024
    }
}

extension String {
    /// The number behind a word of /proc/self/status.
    fileprivate init(contentsOfStatus word: String) throws {
        guard let file = fopen("/proc/self/status", "r") else { throw Usage() }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix(word) else { continue }
            self = String(text.dropFirst(word.count).filter(\.isNumber))
            return
        }
        throw Usage()
    }
}
