package import TidegateCore
package import TidegateNetwork

extension PathDiagnostics {
    /// What a diagnosis sends packets with; a test puts it into its namespace.
    package struct Dependencies: Sendable {
        private let probe: LazyThread<UDPProbe>
        private let hopWalk: LazyThread<HopWalk>
        let resolvers: ResolverClient
        let settings: @Sendable () -> ResolverSettings
        let hosts: @Sendable () -> HostsFile
        /// Knows the connections of other programs; nil if they are not observed.
        let connections: (any ConnectionObservation)?

        /// Dependencies with threads of their own; `onThreadStart` runs first on each of them.
        ///
        /// Connections are noted in `own`.
        package init(
            time: any TimeSource, onThreadStart: @escaping @Sendable () -> Void = {},
            settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system,
            hosts: @escaping @Sendable () -> HostsFile = HostsFile.system, dnsPort: UInt16 = 53,
            connections: (any ConnectionObservation)? = nil, own: OwnSockets? = nil
        ) {
            self.probe = LazyThread { try? UDPProbe(onThreadStart: onThreadStart) }
            self.hopWalk = LazyThread { try? HopWalk(own: own, onThreadStart: onThreadStart) }
            self.resolvers = ResolverClient(
                client: DNSClient(time: time, own: own, onThreadStart: onThreadStart), port: dnsPort)
            self.settings = settings
            self.hosts = hosts
            self.connections = connections
        }

        /// Sends a UDP probe to an address; nil if there is no thread to do it, or if the Swift task is cancelled.
        func udpProbe(_ address: IPAddress, within limit: Duration) async -> UDPProbe.Result? {
            guard let probe = self.probe.thread else { return nil }
            let promise = Promise<UDPProbe.Result>()
            probe.probe(address, within: limit) { promise.fulfil($0) }
            return await promise.value()
        }

        /// Walks to an address; nil if there is no thread to do it, or if the Swift task is cancelled.
        func walk(to address: IPAddress, port: UInt16, within limit: Duration) async -> HopWalkResult? {
            guard let walk = self.hopWalk.thread else { return nil }
            let promise = Promise<HopWalkResult>()
            walk.walk(to: address, port: port, within: limit) { promise.fulfil($0) }
            return await promise.value()
        }
    }
}

/// Asks resolvers one by one.
struct ResolverClient: Sendable {
    let client: DNSClient
    /// The port of all of them.
    let port: UInt16

    /// What is asked of the kernel about the path to a resolver.
    func question(_ server: IPAddress) -> RouteQuestion {
        RouteQuestion(server, port: self.port, ipProtocol: RouteQuestion.udp)
    }

    /// Sends one query to one resolver.
    func query(_ name: String, _ type: DNSQuestion.RecordType, _ server: IPAddress, within limit: Duration) async
        -> DNSOutcome
    {
        let question = DNSQuestion(name: name, type: type, server: server, port: self.port, limit: limit)
        return await withCheckedContinuation { waiter in
            self.client.ask(question) { waiter.resume(returning: $0) }
        }
    }
}
