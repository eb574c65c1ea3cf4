import Glibc
import Synchronization
import TidegateLoop
import TidegateMetrics
import TidegateCore
import TidegateStore
import TidegateSession
import TidegateTestKit

/// A process made to be killed: sends `turn`, counted on from START, to a receiver until somebody ends it.
///
/// `victim BUFFER URL START`; writes `kept N` once turn N is on the disk.
@main
struct Victim {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4, let start = Int(words[3]) else { throw Misuse() }
        var configuration = try RemoteWriteConfiguration(url: words[2], directory: words[1])
        configuration.interval = .milliseconds(5)
        configuration.retry = try RemoteWriteConfiguration.retry(base: .milliseconds(5), cap: .milliseconds(20))
        let turns = Turns(start)
        let writer = try RemoteWriter(
            configuration,
            surroundings: .init(
                paths: ScriptedPathSource(), resolver: ScriptedResolver(), time: SystemClock(),
                collect: { [MetricSample(name: "turn", labels: [], value: Double(turns.next()))] },
                onEvent: { if case .kept = $0 { Victim.tell("kept \(turns.last)\n") } }))
        // The test ends it long before.
        try await Task.sleep(for: .seconds(60))
        await writer.stop()
    }

    // One write(2): a line is there whole or not at all.
    private static func tell(_ line: String) {
        let bytes = Array(line.utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    private struct Misuse: Error {}
}

/// Counts collections; they and their events come on one thread.
private final class Turns: Sendable {
    private let count: Atomic<Int>

    init(_ start: Int) { self.count = Atomic(start - 1) }

    var last: Int { self.count.load(ordering: .relaxed) }

    func next() -> Int { self.count.add(1, ordering: .relaxed).newValue }
}
