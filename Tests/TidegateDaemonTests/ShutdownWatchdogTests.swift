import Logging
import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateDaemon

/// The watch over a daemon's end.
@Suite(.timeLimit(.minutes(1)))
struct ShutdownWatchdogTests {
    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
        let leaves = Atomic<Int>(0)

        var logger: Logger {
            let handler = LineLogHandler(level: .info, format: .logfmt, time: ManualTime()) { text in
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
        let watch = ShutdownWatchdog(logger: lines.logger, patience: .milliseconds(1)) { lines.leave() }
        watch.start()
        await watch.isOver()
        #expect(lines.isLeft)
        let texts = lines.texts.withLock { $0 }
        #expect(texts.count == 1 && texts[0].contains("left what had not ended in time"), "\(texts)")
    }

    @Test("Where everything has ended nothing is left and nothing is said")
    func inTime() async {
        let lines = Lines()
        let watch = ShutdownWatchdog(logger: lines.logger, patience: .seconds(3600)) { lines.leave() }
        watch.start()
        let over = Task { await watch.isOver() }
        watch.cancel()
        await over.value
        #expect(!lines.isLeft)
        #expect(lines.texts.withLock { $0.isEmpty })
    }

    @Test("A watch that never began can be told of the end")
    func never() async {
        let lines = Lines()
        let watch = ShutdownWatchdog(logger: lines.logger) { lines.leave() }
        watch.cancel()
        await watch.isOver()
        #expect(!lines.isLeft)
    }
}
