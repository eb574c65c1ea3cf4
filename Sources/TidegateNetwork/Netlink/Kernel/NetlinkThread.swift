internal import TidegateLoop

/// Who decides on the netlink thread; created there, called only there.
package protocol NetlinkDelegate: AnyObject, SendableMetatype {
    /// What other threads may ask of it.
    associatedtype Command: Sendable

    /// The thread runs; `send` puts commands to this observer from anywhere, and gives false once the thread is stopping.
    func started(send: @escaping @Sendable (Command) -> Bool)
    /// The kernel had something to say, or the sight of it changed; called once right after the start.
    func kernelChanged(_ news: NetlinkChanges)
    /// Carries out a command.
    func receive(_ command: Command)
    /// A timer of the observer's is due.
    func timerFired(_ token: UInt64)
    /// The thread ends after this call.
    func stopping()
}

/// The thread `tg-netlink`: it owns the sockets, the tables and the observer.
package final class NetlinkThread<Observer: NetlinkDelegate>: Sendable {
    private let thread: LoopThread<NetlinkHandler<Observer>>

    /// Starts the thread; `make` runs on it.
    package init(options: NetlinkOptions, make: @escaping @Sendable (NetlinkClient) -> Observer) throws(NetlinkError) {
        let thread = try NetlinkThread.launch(options: options, make: make)
        self.thread = thread
        thread.send(.start { [weak thread] in thread?.send(.observer($0)) ?? false })
    }

    private static func launch(
        options: NetlinkOptions, make: @escaping @Sendable (NetlinkClient) -> Observer
    ) throws(NetlinkError) -> LoopThread<NetlinkHandler<Observer>> {
        do throws(LoopError) {
            return try LoopThread(name: "tg-netlink") { loop in
                options.onThreadStart()
                let kernel = NetlinkClient(loop: loop, options: options)
                return NetlinkHandler(kernel: kernel, observer: make(kernel))
            }
        } catch {
            throw NetlinkError(operation: "starting the netlink thread", text: error.description)
        }
    }

    /// Asks the observer for something; false once the thread is stopping.
    @discardableResult
    package func send(_ command: Observer.Command) -> Bool { self.thread.send(.observer(command)) }

    /// Ends the thread and waits for it.
    package func stop() { self.thread.stop() }
}

private enum NetlinkCommand<Command: Sendable>: Sendable {
    case start(send: @Sendable (Command) -> Bool)
    case observer(Command)
}

private final class NetlinkHandler<Observer: NetlinkDelegate>: LoopHandler {
    typealias Command = NetlinkCommand<Observer.Command>

    private let kernel: NetlinkClient
    private let observer: Observer

    init(kernel: NetlinkClient, observer: Observer) {
        self.kernel = kernel
        self.observer = observer
    }

    func receive(_ command: Command) {
        switch command {
        case .start(let send):
            self.observer.started(send: send)
            self.observer.kernelChanged(self.kernel.start())
        case .observer(let command): self.observer.receive(command)
        }
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        // Told in the same breath: between a link's end and a shut gate there is no hop.
        self.observer.kernelChanged(self.kernel.ready(descriptor))
    }

    func timerFired(_ token: UInt64) {
        guard token >= NetlinkClient.firstTimer else {
            var news = NetlinkChanges()
            self.kernel.noticeSleep(&news)
            if !news.events.isEmpty { self.observer.kernelChanged(news) }
            return self.observer.timerFired(token)
        }
        guard let timer = NetlinkClient.Timer(rawValue: token - NetlinkClient.firstTimer) else { return }
        self.observer.kernelChanged(self.kernel.timerFired(timer))
    }

    func stopping() {
        self.observer.stopping()
        self.kernel.disconnect()
    }
}
