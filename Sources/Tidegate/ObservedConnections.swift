internal import TidegateConnections
public import TidegateCore

/// The TCP connections of other programs of this machine, as far as the kernel tells of them.
///
/// ```swift
/// var configuration = MonitorConfiguration()
/// configuration.connections.isEnabled = true
/// let monitor = try Monitor(configuration)
/// for await stall in monitor.connections.stalled() { print(stall.remote, stall.party) }
/// ```
public struct ObservedConnections: Sendable {
    let observer: ConnectionObserver?
    let bus: EventBus

    /// What is known now; its mode is `off` if the configuration does not want connections to be observed.
    public func report() async -> ConnectionsReport { await self.observer?.report() ?? ConnectionsReport() }

    /// The remotes now: those whose connections hang first, then those with the most connections.
    public func remotes() async -> [RemoteReport] { await self.report().remotes }

    /// The remotes whose connections begin to hang, from now on; ends when its Swift task is cancelled.
    ///
    /// Of what a slow reader has not read yet the newest 256 are kept.
    public func stalled() -> StalledConnections {
        StalledConnections(
            events: self.bus.subscribe(.library, bufferingNewest: 256) { event in
                if case .connection(.stalled) = event.payload { true } else { false }
            })
    }
}

/// Remotes whose connections begin to hang.
public struct StalledConnections: AsyncSequence, Sendable {
    let events: Subscription

    /// Reads the remotes one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var events: Subscription.AsyncIterator

        /// The next one; nil once the Swift task is cancelled.
        public mutating func next() async -> ConnectionEvent.Stall? {
            while let event = await self.events.next() {
                if case .connection(.stalled(let stall)) = event.payload { return stall }
            }
            return nil
        }
    }

    /// A reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(events: self.events.makeAsyncIterator()) }
}
