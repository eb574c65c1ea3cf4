import Logging
import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateDaemon

/// The watch over a daemon's end.
@Suite(.timeLimit(.minutes(5)))
struct ShutdownWatchdogTests {
    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
        let leaves = Atomic<Int>(0)

        var logger: Logger {
            let handler = LineLogHandler(logLevel: .info, format: .logfmt, time: ManualTime()) { text in
                self.texts.withLock { $0.append(text) }
            }
            return Logger(label: "test") { _ in handler }
        }

        func leave() { self.leaves.add(1, ordering: .relaxed) }

        var isLeft: Bool { self.leaves.load(ordering: .relaxed) == 1 }
    }

    @Test("What has not ended in time is left, once, and the log says so")
    func late() async {
        let lines = Lines()
        let watchdog = ShutdownWatchdog(logger: lines.logger, gracePeriod: .milliseconds(1)) { lines.leave() }
        watchdog.start()
        await watchdog.wait()
        #expect(lines.isLeft)
        let texts = lines.texts.withLock { $0 }
        #expect(texts.count == 1 && texts[0].contains("shutdown grace period exceeded, exiting"), "\(texts)")
    }

    @Test("Once everything has ended, nothing is left and nothing is logged")
    func inTime() async {
        let lines = Lines()
        let watchdog = ShutdownWatchdog(logger: lines.logger, gracePeriod: .seconds(3600)) { lines.leave() }
        watchdog.start()
        let over = Task { await watchdog.wait() }
        watchdog.cancel()
        await over.value
        #expect(!lines.isLeft)
        #expect(lines.texts.withLock { $0.isEmpty })
    }

    @Test("A watch that never began can be told of the end")
    func never() async {
        let lines = Lines()
        let watchdog = ShutdownWatchdog(logger: lines.logger) { lines.leave() }
        watchdog.cancel()
        await watchdog.wait()
        #expect(!lines.isLeft)
    }
}
