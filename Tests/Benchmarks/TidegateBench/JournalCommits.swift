import Glibc
import Tidegate
import TidegateJournal

/// How fast accepted tasks become durable: one after the other, and many at a time.
struct JournalCommits {
    let directory: String
    let count: Int

    func run() async throws {
        let clocks = SystemClocks()
        let journal = try Journal(
            directory: self.directory, surroundings: Journal.Surroundings(boot: "bench", time: clocks))
        let description = try TaskDescription(try TaskRequest(url: "http://127.0.0.1:9/task"), key: nil)
        var latencies: [Double] = []
        for _ in 0..<self.count {
            let start = clocks.monotonic()
            await Self.accept(description, journal, clocks)
            latencies.append((clocks.monotonic() - start).inSeconds)
        }
        latencies.sort()
        let start = clocks.monotonic()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<(self.count * 10) { group.addTask { await Self.accept(description, journal, clocks) } }
        }
        let together = (clocks.monotonic() - start).inSeconds
        let result: JSONValue = [
            "median": .number(latencies[self.count / 2] * 1e6),
            "p99": .number(latencies[self.count * 99 / 100] * 1e6),
            "perSecond": .number(Double(self.count) / latencies.reduce(0, +)),
            "togetherPerSecond": .number(Double(self.count * 10) / together),
        ]
        print(result)
        journal.close()
    }

    private static func accept(_ description: TaskDescription, _ journal: Journal, _ clocks: SystemClocks) async {
        var generator = SystemRandomNumberGenerator()
        let now = clocks.wall()
        let life = JournalLife(lived: .zero, wall: now, monotonic: clocks.monotonic(), boot: journal.boot)
        let task = JournaledTask(
            id: TaskID(at: now, using: &generator), accepted: now, description: description, suspensions: 1,
            life: life)
        await withCheckedContinuation { continuation in
            journal.accept(task, onDuplicate: .keep) { _ in continuation.resume() }
        }
    }
}
