internal import Foundation
internal import Glibc

/// What a process holds of the host.
package struct ProcessHoldings: Sendable, CustomStringConvertible {
    /// The open descriptors.
    package var descriptors: Int
    /// The threads.
    package var threads: Int
    /// The bytes of memory that only this process has.
    package var memory: Int

    package var description: String { "\(self.descriptors) descriptors, \(self.threads) threads, \(self.memory) bytes" }

    /// What this process holds; its memory is what malloc has given out (malloc_info(3)).
    package static func own() throws -> ProcessHoldings {
        // Swift's module of glibc lacks <malloc.h>.
        typealias Write = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
        var (text, length) = (UnsafeMutablePointer<CChar>?.none, 0)
        guard let write = dlsym(nil, "malloc_info"), let file = open_memstream(&text, &length) else {
            throw CocoaError(.featureUnsupported)
        }
        _ = unsafeBitCast(write, to: Write.self)(0, file)
        fclose(file)
        defer { free(text) }
        // The last lines are of all arenas together.
        let total = text.map { String(cString: $0) }?.components(separatedBy: "</heap>").last ?? ""
        func bytes(_ element: String) -> Int {
            let found = total.components(separatedBy: "<\(element)").dropFirst().first?.split(separator: "\"")
            return found.flatMap { parts in
                parts.firstIndex { $0.hasSuffix("size=") }.flatMap { Int(parts[$0 + 1]) }
            } ?? 0
        }
        var holdings = try ProcessHoldings(of: getpid())
        holdings.memory =
            bytes("system type=\"current\"") + bytes("total type=\"mmap\"") - bytes("total type=\"fast\"")
            - bytes("total type=\"rest\"")
        return holdings
    }

    /// What a process holds; its memory is the pages that it alone has written to (proc_pid_smaps(5)).
    package init(of process: Int32) throws {
        let lines = try String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8).split(separator: "\n")
        let fields = lines.first { $0.hasPrefix("Private_Dirty:") }?.split(separator: " ") ?? []
        guard fields.count == 3, let kibibytes = Int(fields[1]) else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: "/proc/\(process)/smaps_rollup"])
        }
        let files = FileManager.default
        self.descriptors = try files.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        self.threads = try files.contentsOfDirectory(atPath: "/proc/\(process)/task").count
        self.memory = kibibytes << 10
    }
}
