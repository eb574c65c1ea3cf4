internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore

/// What a ``LoopThread`` runs: created on the thread, called only there, released there.
package protocol LoopHandler: AnyObject, SendableMetatype {
    /// What other threads can send to it.
    associatedtype Command: Sendable

    /// Executes a command.
    func receive(_ command: Command)
    /// A watched descriptor is ready.
    func ready(_ descriptor: Int32, for events: Loop.Interest)
    /// A timer is due; `token` is what it was scheduled with.
    func timerFired(_ token: UInt64)
    /// Everything that was ready has been handled; commands that follow from it still belong to the batch.
    func batchEnding()
    /// The batch is over; the thread will wait next.
    func batchEnded()
    /// The thread ends after this call.
    func stopping()
}

extension LoopHandler {
    package func ready(_ descriptor: Int32, for events: Loop.Interest) {}
    package func timerFired(_ token: UInt64) {}
    package func batchEnding() {}
    package func batchEnded() {}
    package func stopping() {}
}

/// A named thread that executes commands, watches descriptors and keeps timers.
package final class LoopThread<Handler: LoopHandler>: Sendable {
    /// Takes the commands.
    package let inbox: Inbox<Handler.Command>
    /// Says whether the thread turns.
    package let turns: TurnRecord
    private let thread: Mutex<pthread_t?>

    /// Starts the thread; `make` runs on it, and the handler stays there.
    ///
    /// The kernel shows 15 bytes of `name`. The loop's timers ``Loop/scheduleOnTimeSource(at:token:)`` follow `time`.
    package convenience init(
        name: String, time: any TimeSource = SystemClock(), make: @escaping @Sendable (Loop) -> Handler
    ) throws(LoopError) {
        try self.init(name: name, time: time) { loop, _ in make(loop) }
    }

    /// Starts the thread; `make` also gets the inbox, into which the handler's own work on other threads puts commands.
    package init(
        name: String, time: any TimeSource = SystemClock(),
        make: @escaping @Sendable (Loop, Inbox<Handler.Command>) -> Handler
    ) throws(LoopError) {
        let inbox = try Inbox<Handler.Command>()
        let loop = try Loop(time: time)
        if let time = time as? any MovableTimeSource {
            time.onMove { [weak inbox] in
                inbox?.wake()
                return inbox != nil
            }
        }
        try loop.watchInbox(inbox.descriptor)
        // The loop is handed over whole: nothing here touches it again.
        let turns = TurnRecord()
        let start = ThreadStart(loop: loop) { loop in
            tg_thread_name(name)
            LoopThread.run(make(loop, inbox), on: loop, from: inbox, turns)
        }
        self.inbox = inbox
        self.turns = turns
        self.thread = Mutex(try start.launch())
    }

    deinit { self.stop() }

    /// Sends a command to the handler; false once the thread is stopping, and then nothing happens.
    @discardableResult
    package func send(_ command: Handler.Command) -> Bool { self.inbox.put(command) }

    /// Executes the commands sent so far, ends the thread and waits for it.
    package func stop() {
        self.inbox.close()
        let thread = self.thread.withLock { $0.take() }
        guard let thread else { return }
        // The last reference may be dropped on the thread itself, which cannot wait for its own end.
        if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    /// Ends the thread once it has executed the commands sent so far, without waiting for that.
    package func abandon() {
        self.inbox.close()
        if let thread = self.thread.withLock({ $0.take() }) { pthread_detach(thread) }
    }

    private static func run(
        _ handler: Handler, on loop: Loop, from inbox: Inbox<Handler.Command>, _ turns: TurnRecord
    ) {
        var buffer = [epoll_event](repeating: epoll_event(), count: 256)
        var commands: [Handler.Command] = []
        var isClosed = false
        while !isClosed {
            turns.end()
            let count = try? loop.wait(into: &buffer, mayBlock: inbox.park())
            turns.begin(at: loop.now)
            // Only a broken descriptor of our own can fail here, and then the thread cannot wait any more: its last turn
            // does not end.
            guard let count else { break }
            isClosed = LoopThread.execute(&commands, of: inbox, on: handler)
            for position in 0..<count {
                let token = tg_epoll_token(&buffer[position])
                guard token != Loop.inboxToken else {
                    inbox.drain()
                    continue
                }
                guard token != Loop.timerToken else {
                    loop.bootTimerExpired()
                    continue
                }
                handler.ready(Int32(truncatingIfNeeded: token), for: Loop.Interest(rawValue: buffer[position].events))
            }
            while let token = loop.popDueTimer() { handler.timerFired(token) }
            handler.batchEnding()
            if LoopThread.execute(&commands, of: inbox, on: handler) { isClosed = true }
            handler.batchEnded()
        }
        handler.stopping()
        if isClosed { turns.end() }
    }

    // Both arrays keep their capacity, so that a busy thread's commands allocate nothing.
    private static func execute(
        _ commands: inout [Handler.Command], of inbox: Inbox<Handler.Command>, on handler: Handler
    ) -> Bool {
        let isClosed = inbox.takeAll(into: &commands)
        for command in commands { handler.receive(command) }
        commands.removeAll(keepingCapacity: commands.count <= 1024)
        return isClosed
    }
}

/// Does one piece of work after the other.
package final class Worker: LoopHandler {
    /// Does a piece of work.
    package func receive(_ work: @Sendable () -> Void) { work() }
}

extension LoopThread<Worker> {
    /// Starts a thread that does what it is sent; the kernel shows 15 bytes of `name`.
    package convenience init(name: String) throws(LoopError) { try self.init(name: name) { _ in Worker() } }
}

/// Carries a loop over to its new thread.
private final class ThreadStart {
    let loop: Loop
    let run: @Sendable (Loop) -> Void

    init(loop: Loop, run: @escaping @Sendable (Loop) -> Void) {
        self.loop = loop
        self.run = run
    }

    func launch() throws(LoopError) -> pthread_t {
        let box = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(raw).takeRetainedValue()
                start.run(start.loop)
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw LoopError(operation: "pthread_create", code: code)
        }
        return thread
    }
}

/// Whether a ``LoopThread`` turns: written by the thread, read by any other.
package final class TurnRecord: Sendable {
    /// How long one turn may take before its thread is stalled.
    package static let limit = Duration.seconds(10)

    private let clock = SystemClock()
    // When the turn began; 0 while the thread waits for something to do.
    private let start: Atomic<UInt64>

    // The thread's start is its first turn.
    init() { self.start = Atomic(self.clock.monotonic().nanoseconds) }

    /// Whether the present turn has taken longer than the limit.
    package var isStalled: Bool { self.isStalled(at: self.clock.monotonic()) }

    func isStalled(at moment: MonotonicTime) -> Bool {
        let start = self.start.load(ordering: .relaxed)
        return start != 0 && moment >= MonotonicTime(nanoseconds: start) + TurnRecord.limit
    }

    func begin(at moment: MonotonicTime) { self.start.store(moment.nanoseconds, ordering: .relaxed) }

    func end() { self.start.store(0, ordering: .relaxed) }
}

/// Something with a thread that starts when it is first needed: most diagnoses never send a packet by it.
package final class LazyThread<Owner: Sendable>: Sendable {
    private let make: @Sendable () -> Owner?
    private let made = Mutex<Owner?>(nil)

    /// `make` returns nil if the thread cannot start; it is tried again with the next use.
    package init(_ make: @escaping @Sendable () -> Owner?) { self.make = make }

    /// The owner of the running thread.
    package var thread: Owner? {
        self.made.withLock { made in
            if made == nil { made = self.make() }
            return made
        }
    }

    /// The owner if its thread has started.
    package var started: Owner? { self.made.withLock { $0 } }

    /// The owner if its thread has started, which the next use then starts anew.
    package func take() -> Owner? { self.made.withLock { $0.take() } }
}
