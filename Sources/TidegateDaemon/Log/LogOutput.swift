internal import Glibc
internal import Synchronization
internal import TidegateCore
internal import TidegateLoop

/// Writes lines to a descriptor on its own thread, so that a log without a reader blocks nothing else.
///
/// Lines that do not fit are dropped. A line with their number follows, at most once a second and once at the end.
final class LogOutput: Sendable {
    private struct State {
        var waitingBytes = 0
        var dropped = 0
        var isFinishing = false
        var lastNotice: MonotonicTime?
    }

    private final class Writer: LoopHandler {
        typealias Command = String
        private let output: LogOutput

        init(_ output: LogOutput) { self.output = output }

        func receive(_ line: String) { self.output.write(line) }
    }

    /// How many bytes may wait to be written.
    static let capacity = 1 << 20

    private let descriptor: Int32
    private let time: any TimeSource
    private let notice: @Sendable (Int) -> String
    private let state = Mutex(State())
    private let thread = Mutex(LoopThread<Writer>?.none)

    /// An output to a descriptor; `notice` makes the line that reports the number of dropped lines.
    init(
        descriptor: Int32, time: any TimeSource, notice: @escaping @Sendable (Int) -> String
    ) {
        self.descriptor = descriptor
        self.time = time
        self.notice = notice
    }

    /// Starts the thread; nothing is written before.
    func start() throws {
        let thread = try LoopThread(name: "tg-log") { _ in Writer(self) }
        self.thread.withLock { $0 = thread }
    }

    /// Queues a line that includes its end; returns immediately.
    func put(_ line: String) {
        let size = LogOutput.size(of: line)
        let hasRoom = self.state.withLock { state in
            guard state.waitingBytes + size <= LogOutput.capacity else {
                state.dropped += 1
                return false
            }
            state.waitingBytes += size
            return true
        }
        if hasRoom { _ = self.thread.withLock { $0?.send(line) } }
    }

    /// Waits at most `limit` until everything is written; nothing is written afterwards.
    func finish(within limit: Duration) {
        let deadline = self.time.monotonic() + limit
        // An empty final line reports what was dropped in the last second.
        self.state.withLock { state in
            state.isFinishing = true
            state.waitingBytes += LogOutput.size(of: "")
        }
        _ = self.thread.withLock { $0?.send("") }
        while self.state.withLock({ $0.waitingBytes > 0 }), self.time.monotonic() < deadline { usleep(2000) }
        // The thread may be blocked by the reader, so it cannot be joined.
        self.thread.withLock { $0.take() }?.abandon()
    }

    // Every line counts, even an empty one.
    private static func size(of line: String) -> Int { max(1, line.utf8.count) }

    // Runs on the thread.
    private func write(_ line: String) {
        self.reportDropped()
        self.writeAll(line)
        let isLast = self.state.withLock { state in
            state.waitingBytes -= LogOutput.size(of: line)
            return state.waitingBytes == 0
        }
        if isLast { self.reportDropped() }
    }

    private func reportDropped() {
        let now = self.time.monotonic()
        let dropped = self.state.withLock { state in
            let isSoon = state.lastNotice.map { now - $0 < .seconds(1) } ?? false
            guard state.dropped > 0, !isSoon || state.isFinishing else { return 0 }
            defer { (state.dropped, state.lastNotice) = (0, now) }
            return state.dropped
        }
        if dropped > 0 { self.writeAll(self.notice(dropped)) }
    }

    // A failure is ignored, because there is nowhere left to report it.
    private func writeAll(_ text: String) { _ = TextFile.write(Array(text.utf8), to: self.descriptor) }
}
