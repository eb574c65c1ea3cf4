import Glibc
import Synchronization
import TidegateLoop
import TidegateMetrics
import TidegateCore
import TidegateStore
import TidegateSession
import TidegateTestKit

/// A process made to be killed: sends the series `turn`, with the values START, START + 1, …, to a receiver.
///
/// `RemoteWriteCrashHelper DIRECTORY URL START`; prints `kept N` when value N is on the disk.
@main
struct CrashHelper {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let start = Int(arguments[3]) else { throw UsageError() }
        var configuration = RemoteWriteConfiguration(url: arguments[2], directory: arguments[1])
        configuration.interval = .milliseconds(5)
        configuration.retry = RemoteWriteConfiguration.retry(base: .milliseconds(5), cap: .milliseconds(20))
        let turns = Turns(start)
        let writer = try RemoteWriter(
            configuration, paths: ScriptedPathSource(), resolver: ScriptedResolver(), time: SystemClock(),
            collect: { [MetricSample(name: "turn", labels: [], value: Double(turns.next()))] },
            onEvent: { if case .kept = $0 { CrashHelper.print("kept \(turns.last)\n") } })
        // The test kills it long before.
        try await Task.sleep(for: .seconds(300))
        await writer.stop()
    }

    // One write(2): the test reads a whole line or none.
    private static func print(_ line: String) {
        let bytes = Array(line.utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    private struct UsageError: Error {}
}

/// Numbers collections; they and their events come on one thread.
private final class Turns: Sendable {
    private let count: Atomic<Int>

    init(_ start: Int) { self.count = Atomic(start - 1) }

    var last: Int { self.count.load(ordering: .relaxed) }

    func next() -> Int { self.count.add(1, ordering: .relaxed).newValue }
}
