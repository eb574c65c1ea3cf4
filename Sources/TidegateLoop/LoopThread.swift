internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore

/// What a ``LoopThread`` runs: created on the thread, called only there, released there.
package protocol LoopHandler: AnyObject, SendableMetatype {
    /// The commands that other threads send to it.
    associatedtype Command: Sendable

    /// Executes a command.
    func receive(_ command: Command)
    /// Called when a watched descriptor is ready.
    func ready(_ descriptor: Int32, for events: Loop.Interest)
    /// Called when a timer is due; `token` is the one that it was scheduled with.
    func timerFired(_ token: UInt64)
    /// Called when everything that was ready has been handled; commands sent from here still belong to the batch.
    func batchEnding()
    /// Called at the end of a batch, before the thread waits.
    func batchEnded()
    /// Called last, before the thread ends.
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
    /// The queue of commands.
    package let inbox: Inbox<Handler.Command>
    let turns: TurnRecord
    private let thread: Mutex<pthread_t?>

    /// Starts the thread; `make` runs on it, and the handler stays there.
    ///
    /// The kernel shows 15 bytes of `name`. `time` drives the timers of ``Loop/scheduleOnTimeSource(at:token:)``.
    package convenience init(
        name: String, time: any TimeSource = SystemClock(), make: @escaping @Sendable (Loop) -> Handler
    ) throws(LoopError) {
        try self.init(name: name, time: time) { loop, _ in make(loop) }
    }

    /// Starts the thread; `make` also receives the inbox, so that work on other threads can send commands back.
    package convenience init(
        name: String, time: any TimeSource = SystemClock(),
        make: @escaping @Sendable (Loop, Inbox<Handler.Command>) -> Handler
    ) throws(LoopError) {
        let inbox = try Inbox<Handler.Command>()
        try self.init(name: name, time: time, inbox: inbox) { loop in make(loop, inbox) }
    }

    /// Starts the thread, which takes commands from an inbox that others know already.
    package init(
        name: String, time: any TimeSource = SystemClock(), inbox: Inbox<Handler.Command>,
        make: @escaping @Sendable (Loop) -> Handler
    ) throws(LoopError) {
        let loop = try Loop(time: time)
        if let time = time as? any MovableTimeSource {
            time.onMove { [weak inbox] in
                inbox?.wake()
                return inbox != nil
            }
        }
        try loop.watchInbox(inbox.descriptor)
        // Ownership of the loop passes to the thread: nothing here touches it again.
        let turns = TurnRecord()
        let start = ThreadStart(loop: loop) { loop in
            tg_thread_name(name)
            LoopThread.run(make(loop), on: loop, from: inbox, turns)
        }
        self.inbox = inbox
        self.turns = turns
        self.thread = Mutex(try start.launch())
    }

    deinit { self.stop() }

    /// How busy the thread is.
    package var load: ThreadLoad {
        var load = self.turns.load
        load.waiting = self.inbox.count
        return load
    }

    /// Sends a command to the handler; false if the thread is stopping, in which case the command is not executed.
    @discardableResult
    package func send(_ command: Handler.Command) -> Bool { self.inbox.put(command) }

    /// Executes the commands sent so far, ends the thread and waits for it.
    package func stop() {
        self.inbox.close()
        let thread = self.thread.withLock { $0.take() }
        guard let thread else { return }
        // The last reference may be dropped on the thread itself, which cannot join itself.
        if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    /// Ends the thread after the commands sent so far, without waiting for it.
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
            // Only a broken descriptor of our own can fail here. The thread then cannot wait any more, and its last
            // turn never ends.
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

    // Both arrays keep their capacity, so that the commands of a busy thread allocate nothing.
    private static func execute(
        _ commands: inout [Handler.Command], of inbox: Inbox<Handler.Command>, on handler: Handler
    ) -> Bool {
        let isClosed = inbox.takeAll(into: &commands)
        for command in commands { handler.receive(command) }
        commands.removeAll(keepingCapacity: commands.count <= 1024)
        return isClosed
    }
}

/// Runs closures one after the other.
package final class Worker: LoopHandler {
    /// Runs a closure.
    package func receive(_ work: @Sendable () -> Void) { work() }
}

extension LoopThread<Worker> {
    /// Starts a thread that runs the closures it is sent; the kernel shows 15 bytes of `name`.
    package convenience init(name: String) throws(LoopError) { try self.init(name: name) { _ in Worker() } }
}

/// Carries a loop to its new thread.
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

/// Records the turns of a ``LoopThread``; the thread writes it, any other may read it.
final class TurnRecord: Sendable {
    /// A thread whose turn takes longer than this is stalled.
    static let limit = Duration.seconds(10)

    private let clock = SystemClock()
    // When the turn began; 0 while the thread waits for something to do.
    private let start: Atomic<UInt64>
    private let busy = Atomic<UInt64>(0)
    private let longest = Atomic<UInt64>(0)

    // The thread's start is its first turn.
    init() { self.start = Atomic(self.clock.monotonic().nanoseconds) }

    /// The turns so far with the current one, without the commands that wait.
    var load: ThreadLoad {
        let now = self.clock.monotonic()
        let start = self.start.load(ordering: .relaxed)
        let current = start == 0 || now.nanoseconds < start ? 0 : now.nanoseconds - start
        var load = ThreadLoad()
        load.isStalled = self.isStalled(at: now)
        load.busy = .nanoseconds(Int64(self.busy.load(ordering: .relaxed) + current))
        load.longest = .nanoseconds(Int64(max(current, self.longest.load(ordering: .relaxed))))
        return load
    }

    func isStalled(at moment: MonotonicTime) -> Bool {
        let start = self.start.load(ordering: .relaxed)
        return start != 0 && moment >= MonotonicTime(nanoseconds: start) + TurnRecord.limit
    }

    func begin(at moment: MonotonicTime) { self.start.store(moment.nanoseconds, ordering: .relaxed) }

    // Only the thread writes, so that no addition is lost.
    func end() {
        let start = self.start.load(ordering: .relaxed)
        let now = self.clock.monotonic().nanoseconds
        let length = now > start ? now - start : 0
        self.busy.store(self.busy.load(ordering: .relaxed) + length, ordering: .relaxed)
        if length > self.longest.load(ordering: .relaxed) { self.longest.store(length, ordering: .relaxed) }
        self.start.store(0, ordering: .relaxed)
    }
}

/// The owner of a thread that starts when first needed: most diagnoses never send a packet through it.
package final class LazyThread<Owner: Sendable>: Sendable {
    private let make: @Sendable () -> Owner?
    private let made = Mutex<Owner?>(nil)

    /// `make` returns nil if the thread cannot start; the next use tries again.
    package init(_ make: @escaping @Sendable () -> Owner?) { self.make = make }

    /// The owner, whose thread is started if needed; nil if that fails.
    package var thread: Owner? {
        self.made.withLock { made in
            if made == nil { made = self.make() }
            return made
        }
    }

    /// The owner, if its thread has started.
    package var started: Owner? { self.made.withLock { $0 } }

    /// Removes and returns the owner, if its thread has started; the next use starts a new one.
    package func take() -> Owner? { self.made.withLock { $0.take() } }
}
