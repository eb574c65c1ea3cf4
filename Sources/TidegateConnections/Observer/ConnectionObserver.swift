internal import Synchronization
package import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// Observes the TCP connections of every program of a network namespace, without touching one of them.
///
/// It needs no privilege. It never gates a task and never changes a level.
package final class ConnectionObserver: ConnectionObservation {
    /// What an observer asks, and whom it tells; all but `route` is called on the observer's thread and must return at
    /// once.
    package struct Environment: Sendable {
        /// Told of everything worth an event.
        package var publish: @Sendable (ConnectionEvent) -> Void
        /// What the kernel would do with a packet to an address.
        package var route: @Sendable (IPAddress) async -> AddressRoute
        /// The configured targets with the addresses that they have now.
        package var targets: @Sendable () -> [ObservedTarget]
        package var time: any TimeSource

        package init(
            time: any TimeSource, publish: @escaping @Sendable (ConnectionEvent) -> Void = { _ in },
            route: @escaping @Sendable (IPAddress) async -> AddressRoute = { _ in AddressRoute(verdict: .unknown) },
            targets: @escaping @Sendable () -> [ObservedTarget] = { [] }
        ) {
            self.time = time
            self.publish = publish
            self.route = route
            self.targets = targets
        }
    }

    private let thread: LoopThread<ObservationThread>
    private let latest: LatestStatistics
    /// The sockets of this program, which are left out.
    package let own: OwnSockets

    /// Starts observing.
    ///
    /// - Throws: If the system gives no thread.
    package init(
        _ configuration: ConnectionsConfiguration, own: OwnSockets = OwnSockets(),
        options: NetlinkOptions = NetlinkOptions(), _ environment: Environment
    ) throws(TextError) {
        let latest = LatestStatistics()
        self.latest = latest
        self.own = own
        let reply = ReplyAddress()
        let dependencies = ObservationThread.Dependencies(
            publish: environment.publish,
            lookUp: { address in
                Task { reply.send(.routed(address, await environment.route(address))) }
            },
            targets: environment.targets, keep: { latest.set($0) }, time: environment.time)
        do {
            self.thread = try LoopThread(name: "tg-observe") { loop in
                ObservationThread(loop, configuration, own: own, options, dependencies)
            }
        } catch {
            throw TextError("connections cannot be observed: \(error)")
        }
        reply.set(self.thread)
    }

    /// What is known now.
    package func report() async -> ConnectionsReport {
        await withCheckedContinuation { waiter in
            guard self.thread.send(.report(waiter)) else { return waiter.resume(returning: ConnectionsReport()) }
        }
    }

    package var statistics: ConnectionStatistics { self.latest.statistics }

    /// Whether its thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.thread.turns.isStalled }

    /// The host's path of a family changed, or is known for the first time: then what failed before failed on its own.
    package func pathChanged(_ family: AddressFamily, isFirst: Bool) {
        self.thread.send(.pathChanged(family, isFirst: isFirst))
    }

    /// Ends observing.
    package func stop() { self.thread.stop() }
}

/// What was counted last, for whoever scrapes.
private final class LatestStatistics: Sendable {
    private let value = Mutex(ConnectionStatistics())

    var statistics: ConnectionStatistics { self.value.withLock { $0 } }

    func set(_ statistics: ConnectionStatistics) { self.value.withLock { $0 = statistics } }
}

/// The thread that look-ups answer to, which does not exist yet when it is told how to make them.
private final class ReplyAddress: Sendable {
    private struct Weak: Sendable { weak var thread: LoopThread<ObservationThread>? }

    private let thread = Mutex(Weak())

    func set(_ thread: LoopThread<ObservationThread>) { self.thread.withLock { $0.thread = thread } }

    func send(_ command: ObservationThread.Command) {
        let thread = self.thread.withLock { $0.thread }
        thread?.send(command)
    }
}
