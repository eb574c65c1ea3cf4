internal import CLinux
internal import Glibc
internal import TidegateLoop

/// Ends calls of libcurl that a server keeps going: one that sends for ever what libcurl reads in a single loop.
///
/// Watches only while there are calls. Belongs to the engine and its thread.
final class CallWatchdog {
    let record = CurlCallRecord()
    private var thread: LoopThread<CallObserver>?

    deinit { self.thread?.stop() }

    /// Calls libcurl about a socket or, without one, about timers; true if the call had to be ended.
    func watching(
        _ descriptor: Int32? = nil, of generation: Int, _ body: () throws(CurlError) -> Void
    ) throws(CurlError) -> Bool {
        if self.record.begin(on: descriptor, generation: generation) { self.wake() }
        do throws(CurlError) {
            try body()
        } catch {
            _ = self.record.end()
            throw error
        }
        return self.record.end()
    }

    private func wake() {
        if self.thread == nil {
            var clock: clockid_t = 0
            guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return }
            let (record, known) = (self.record, clock)
            // Without a thread for it nothing is watched, and libcurl works as ever.
            self.thread = try? LoopThread(name: "tg-watchdog") { CallObserver(loop: $0, clock: known, record: record) }
        }
        self.thread?.send(.watch)
    }
}

/// Looks at a thread's calls of libcurl four times a second, for as long as there are any.
final class CallObserver: LoopHandler {
    enum Command: Sendable { case watch }

    private static let interval = Duration.milliseconds(250)

    private let loop: Loop
    private let clock: clockid_t
    private let record: CurlCallRecord
    private var sample = CallSample()

    init(loop: Loop, clock: clockid_t, record: CurlCallRecord) {
        self.loop = loop
        self.clock = clock
        self.record = record
    }

    func receive(_ command: Command) {
        self.sample = CallSample()
        self.schedule()
    }

    func timerFired(_ token: UInt64) {
        var time = timespec()
        clock_gettime(self.clock, &time)
        let used = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        switch self.sample.look(at: self.record.call, processorTime: used) {
        case .goOn: self.schedule()
        case .endCall(let isLastResort):
            self.record.endCall(isLastResort: isLastResort)
            self.schedule()
        case .sleep: if !self.record.sleep() { self.schedule() }
        }
    }

    private func schedule() { _ = self.loop.schedule(after: CallObserver.interval, token: 0) }
}
