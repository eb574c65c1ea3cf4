internal import CCurl
internal import CLinux
internal import Glibc
internal import Synchronization
internal import TidegateLoop

/// Ends calls of libcurl that a server keeps busy by sending without end what libcurl reads in a single loop.
///
/// It runs only while there are calls. It belongs to the engine and its thread.
final class CallWatchdog {
    /// What is wrong with a server whose call is ended.
    static let finding = "the server sent without an end what is read in one go"

    let record = CurlCallRecord()
    private var thread: LoopThread<CallObserver>?

    deinit { self.thread?.stop() }

    /// Calls libcurl about a socket or, without one, about timers; true if the watchdog had to end the call.
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
            // Without a thread nothing is watched, and libcurl works as before.
            self.thread = try? LoopThread(name: "tg-watchdog") { CallObserver(loop: $0, clock: known, record: record) }
        }
        self.thread?.send(.watch)
    }
}

/// Checks a thread's calls of libcurl four times a second while there are any.
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

/// The watchdog's last sample, and its decision about the next one.
///
/// It measures the processor time of the thread: a process that was suspended has done nothing wrong.
struct CallSample {
    /// The next step.
    enum Decision: Hashable {
        case goOn
        /// The call has used up its time; `isLastResort` if it continued although its own socket was shut down.
        case endCall(isLastResort: Bool)
        /// There have been no calls for a while.
        case sleep
    }

    /// The processor time that one call may use.
    static let limit = Duration.seconds(2)
    // The number of samples without a call before the watchdog sleeps.
    private static let patience = 20

    private var call: UInt64?
    private var start = Duration.zero
    private var quiet = 0

    /// Takes a sample: the current call, nil for none, and the total processor time of the thread.
    mutating func look(at call: UInt64?, processorTime: Duration) -> Decision {
        guard let call else {
            self.call = nil
            self.quiet += 1
            return self.quiet < CallSample.patience ? .goOn : .sleep
        }
        self.quiet = 0
        guard call == self.call else {
            self.call = call
            self.start = processorTime
            return .goOn
        }
        let used = processorTime - self.start
        guard used >= CallSample.limit else { return .goOn }
        return .endCall(isLastResort: used >= CallSample.limit + .seconds(1))
    }
}

/// A thread's calls of libcurl, as its watchdog sees them, and the sockets that they may use.
final class CurlCallRecord: Sendable {
    /// libcurl's open sockets with the generations of their pools, so that another thread can shut one down without
    /// hitting another file.
    private let sockets = Mutex<[Int32: Int]>([:])
    /// Counts the starts and ends of calls: odd during a call.
    private let count = Atomic<UInt64>(0)
    /// The socket of the current call; -1 if it has none.
    private let descriptor = Atomic<Int32>(-1)
    private let generation = Atomic<Int>(0)
    private let endedCall = Atomic<UInt64>(0)
    /// The transfer that the current call serves; -1 if none has received anything yet.
    private let served = Atomic<Int>(-1)
    private let isIdle = Atomic<Bool>(true)

    /// The current call; nil if none exists.
    var call: UInt64? {
        let count = self.count.load(ordering: .acquiring)
        return count % 2 == 1 ? count : nil
    }

    // MARK: The calling thread

    /// Records the start of a call; true if the watchdog is idle and must be woken.
    func begin(on descriptor: Int32?, generation: Int) -> Bool {
        self.descriptor.store(descriptor ?? -1, ordering: .relaxed)
        self.generation.store(generation, ordering: .relaxed)
        self.served.store(-1, ordering: .relaxed)
        self.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        return self.isIdle.load(ordering: .relaxed)
            && self.isIdle.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// Records the end of a call; true if the watchdog has ended it by its sockets.
    func end() -> Bool {
        let call = self.count.wrappingAdd(1, ordering: .releasing).oldValue
        return self.endedCall.load(ordering: .acquiring) == call && !self.isOfOneTransfer
    }

    /// Whether a transfer without a socket of its own learns of the end when it is served again.
    private var isOfOneTransfer: Bool {
        self.descriptor.load(ordering: .relaxed) < 0 && self.served.load(ordering: .relaxed) >= 0
    }

    /// Whether the watchdog has ended the current call, in which libcurl now serves a transfer.
    ///
    /// Every call also serves all transfers whose timers are due. Each has its own time: the next one counts as another
    /// call, which has no socket.
    func isCallEnded(serving transfer: Int) -> Bool {
        let last = self.served.exchange(transfer, ordering: .relaxed)
        if last != transfer, last >= 0 {
            self.descriptor.store(-1, ordering: .relaxed)
            self.count.wrappingAdd(2, ordering: .sequentiallyConsistent)
        }
        return self.endedCall.load(ordering: .relaxed) == self.count.load(ordering: .relaxed)
    }

    /// Records an opened socket of the pool with this generation.
    func opened(_ descriptor: Int32, generation: Int) { self.sockets.withLock { $0[descriptor] = generation } }

    /// Closes a socket; it is removed here first, so that its number cannot belong to another file yet.
    func close(_ descriptor: Int32) -> Int32 {
        self.sockets.withLock { sockets in
            sockets[descriptor] = nil
            return Glibc.close(descriptor)
        }
    }

    // MARK: The watchdog

    /// Ends the current call by shutting down its socket or, as the last resort, every socket of its pool.
    func endCall(isLastResort: Bool) {
        guard let call = self.call else { return }
        self.endedCall.store(call, ordering: .releasing)
        guard isLastResort || !self.isOfOneTransfer else { return }
        let descriptor = self.descriptor.load(ordering: .relaxed)
        let ended = isLastResort || descriptor < 0 ? nil : descriptor
        let generation = self.generation.load(ordering: .relaxed)
        // shutdown(2): reads and writes end.
        self.sockets.withLock { sockets in
            for (open, owner) in sockets where owner == generation && open == ended ?? open {
                shutdown(open, Int32(SHUT_RDWR))
            }
        }
    }

    /// Marks the watchdog as asleep; false if a call has started that did not see this.
    func sleep() -> Bool {
        self.isIdle.store(true, ordering: .sequentiallyConsistent)
        guard self.call != nil else { return true }
        // Whichever thread takes the flag back handles the call.
        return !self.isIdle.exchange(false, ordering: .sequentiallyConsistent)
    }
}
