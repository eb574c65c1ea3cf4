package import TidegateCore
internal import TidegateLoop

/// What runs on the netlink thread beside the client; created there, called only there.
package protocol NetlinkDelegate: AnyObject, SendableMetatype {
    /// What other threads may send to it.
    associatedtype Command: Sendable

    /// The thread has started; `send` delivers commands to this delegate from any thread, and returns false once the
    /// thread is stopping.
    func started(send: @escaping @Sendable (Command) -> Bool)
    /// Messages were read, or the connection to the kernel changed; called once right after the start.
    func kernelChanged(_ changes: NetlinkChanges)
    /// Executes a command.
    func receive(_ command: Command)
    /// A timer of the delegate's is due.
    func timerFired(_ token: UInt64)
    /// The thread ends after this call.
    func stopping()
}

/// The thread `tg-netlink`: it owns the sockets, the tables and the delegate.
package final class NetlinkThread<Delegate: NetlinkDelegate>: Sendable {
    private let thread: LoopThread<NetlinkHandler<Delegate>>

    /// Starts the thread; `make` runs on it.
    package init(options: NetlinkOptions, make: @escaping @Sendable (NetlinkClient) -> Delegate) throws(NetlinkError) {
        do throws(LoopError) {
            self.thread = try LoopThread(name: "tg-netlink") { loop in
                options.onThreadStart()
                let client = NetlinkClient(loop: loop, options: options)
                return NetlinkHandler(client: client, delegate: make(client))
            }
        } catch {
            throw NetlinkError(operation: "starting the netlink thread", text: error.description)
        }
        self.thread.send(.start { [weak thread] in thread?.send(.delegate($0)) ?? false })
    }

    /// Sends the delegate a command; false once the thread is stopping.
    @discardableResult
    package func send(_ command: Delegate.Command) -> Bool { self.thread.send(.delegate(command)) }

    /// Whether the thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.thread.turns.isStalled }

    /// Ends the thread and waits for it.
    package func stop() { self.thread.stop() }
}

private enum NetlinkCommand<Command: Sendable>: Sendable {
    case start(send: @Sendable (Command) -> Bool)
    case delegate(Command)
}

private final class NetlinkHandler<Delegate: NetlinkDelegate>: LoopHandler {
    typealias Command = NetlinkCommand<Delegate.Command>

    private let client: NetlinkClient
    private let delegate: Delegate

    init(client: NetlinkClient, delegate: Delegate) {
        self.client = client
        self.delegate = delegate
    }

    func receive(_ command: Command) {
        switch command {
        case .start(let send):
            self.delegate.started(send: send)
            self.delegate.kernelChanged(self.client.start())
        case .delegate(let command): self.delegate.receive(command)
        }
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        // Delivered synchronously, on this thread: a lost link must close gates without a queue in between.
        self.delegate.kernelChanged(self.client.ready(descriptor))
    }

    func timerFired(_ token: UInt64) {
        guard let timer = self.client.timers.didFire(token) else {
            var changes = NetlinkChanges()
            self.client.checkSuspend(&changes)
            if !changes.events.isEmpty { self.delegate.kernelChanged(changes) }
            return self.delegate.timerFired(token)
        }
        self.delegate.kernelChanged(self.client.timerFired(timer))
    }

    func stopping() {
        self.delegate.stopping()
        self.client.disconnect()
    }
}

/// What changed with one batch of messages, or with the connection to the kernel.
package struct NetlinkChanges: Sendable {
    /// What was received or lost, for the bus.
    package var events: [NetlinkEvent] = []
    /// Something may have changed: evaluate again.
    package var isDirty = false
    /// A link or an address was lost: evaluate without delay.
    package var isLoss = false
    /// Watched neighbours whose entries have changed, as they are now; removed ones have the state `none`.
    package var neighbours: [KernelNeighbour] = []
    /// ``NetlinkClient/state`` changed.
    package var isStateChanged = false
}

/// The client's own timers and watched descriptors on the loop of the netlink thread.
final class NetlinkTimers {
    enum Timer: UInt64 {
        case reconnect, resync, poll, storm, namespace, neighbours
    }

    // Tokens below belong to the delegate.
    static let firstToken: UInt64 = 1 << 32

    let loop: Loop
    private var ids: [Timer: TimerID] = [:]

    init(loop: Loop) { self.loop = loop }

    func isScheduled(_ timer: Timer) -> Bool { self.ids[timer] != nil }

    /// Schedules a timer, in place of the same one if that is scheduled already.
    func schedule(_ timer: Timer, after delay: Duration) {
        self.cancel(timer)
        self.ids[timer] = self.loop.schedule(after: delay, token: NetlinkTimers.firstToken + timer.rawValue)
    }

    func cancel(_ timer: Timer) {
        if let id = self.ids.removeValue(forKey: timer) { self.loop.cancel(id) }
    }

    func cancelAll() {
        for id in self.ids.values { self.loop.cancel(id) }
        self.ids = [:]
    }

    /// The client's timer behind a token, which has fired; nil if the token is one of the delegate's.
    func didFire(_ token: UInt64) -> Timer? {
        guard token >= NetlinkTimers.firstToken, let timer = Timer(rawValue: token - NetlinkTimers.firstToken) else {
            return nil
        }
        self.ids[timer] = nil
        return timer
    }

    func watch(_ descriptor: Int32) throws(NetlinkError) {
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .read)
        } catch {
            throw NetlinkError(operation: "watching a netlink socket", text: error.description)
        }
    }

    // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
    func unwatch(_ descriptor: Int32) { try? self.loop.unwatch(descriptor) }

    /// The delay before attempt `count`: doubled each time, up to `limit`.
    static func backoff(_ count: Int, from first: Duration, limit: Duration) -> Duration {
        min(limit, first * (1 << min(max(0, count - 1), 16)))
    }
}
