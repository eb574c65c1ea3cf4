import Glibc
import Synchronization
import Tidegate
import TidegateStore

/// How fast accepted tasks become durable: one after the other, and many at a time.
struct JournalCommits {
    let directory: String
    let count: Int

    func run() async throws {
        let clocks = SystemClock()
        let commits = Commits()
        let journal = try Journal(
            directory: self.directory,
            dependencies: Journal.Dependencies(time: clocks, onEvent: commits.receive))
        let description = try TaskDescription(try TaskRequest(url: "http://127.0.0.1:9/task"), key: nil)
        var latencies: [Double] = []
        for _ in 0..<self.count {
            let start = clocks.monotonic()
            try await Self.accept(description, journal, clocks)
            latencies.append((clocks.monotonic() - start).inSeconds)
        }
        latencies.sort()
        let before = commits.count
        let start = clocks.monotonic()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<(self.count * 10) { group.addTask { try await Self.accept(description, journal, clocks) } }
            try await group.waitForAll()
        }
        let together = (clocks.monotonic() - start).inSeconds
        let result: JSONValue = [
            "median": .number(latencies[self.count / 2] * 1e6),
            "p99": .number(latencies[self.count * 99 / 100] * 1e6),
            "perSecond": .number(Double(self.count) / latencies.reduce(0, +)),
            "togetherPerSecond": .number(Double(self.count * 10) / together),
            "togetherPerCommit": .number(Double(self.count * 10) / Double(max(1, commits.count - before))),
        ]
        print(result)
        journal.close()
    }

    private static func accept(
        _ description: TaskDescription, _ journal: Journal, _ clocks: SystemClock
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        let now = clocks.wall()
        let life = TaskLifetime(lived: .zero, wall: now, monotonic: clocks.monotonic(), boot: journal.boot)
        let task = JournaledTask(
            id: TaskID(at: now, using: &generator), accepted: now, description: description, suspensions: 1,
            life: life)
        let answer = await withCheckedContinuation { continuation in
            journal.accept(task, onDuplicate: .keep) { continuation.resume(returning: $0) }
        }
        _ = try answer.get()
    }
}

/// Counts transactions.
private final class Commits: Sendable {
    private let number = Atomic<Int>(0)

    var count: Int { self.number.load(ordering: .relaxed) }

    func receive(_ event: JournalEvent) {
        if case .committed = event { self.number.add(1, ordering: .relaxed) }
    }
}
