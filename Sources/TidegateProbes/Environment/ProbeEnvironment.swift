package import TidegateCore
package import TidegateNetwork
package import TidegateTransfer

/// What a diagnosis after a failed probe is about.
package enum ProbeSubject: Sendable, Hashable {
    /// An address, perhaps with a port.
    case target(Target)
    /// The internet as a whole, with this host's resolvers.
    case internet
}

/// A failure that none of the observations attributes to a party.
package struct ProbeDoubt: Sendable, Hashable {
    package var subject: ProbeSubject
    /// The address that was connected to; nil if there was none.
    package var address: IPAddress?
    /// True for a scheduled run, whose answer no client waits for.
    package var isScheduled: Bool
}

/// What probes need of the host that they run on.
package struct ProbeEnvironment: Sendable {
    /// Resolves the names of targets.
    let resolver: any NameResolver
    let network: Network
    /// Makes the requests.
    let attempts: AttemptClient
    /// Sends ICMP echo requests.
    let echo: EchoClient
    /// Sends questions by UDP.
    let datagrams = DatagramClient()
    /// Opens the connections of TCP that no request of HTTP needs.
    let connector: TCPConnector
    /// Where probes note the sockets that they open; nil if nothing reads them.
    let own: OwnSockets?
    let time: any TimeSource
    /// Calls once after a delay.
    let call: @Sendable (_ delay: Duration, @escaping @Sendable () -> Void) -> Void
    /// The version in the field User-Agent.
    let version: String

    /// What is known of the network.
    package struct Network: Sendable {
        /// What the kernel would do with a packet to an address.
        let route: @Sendable (IPAddress) async -> AddressRoute
        /// What it would do with one to the internet, for names that gave no address.
        let internet: @Sendable () -> Verdict
        /// What the latest diagnosis of this host found over a family, if it is not too old.
        let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?
        /// Finds out why a target cannot be reached, when nothing that was seen says so; nil for no answer.
        let cause: @Sendable (ProbeDoubt) async -> Cause?

        /// What is known, from its parts.
        package init(
            route: @escaping @Sendable (IPAddress) async -> AddressRoute, internet: @escaping @Sendable () -> Verdict,
            diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil },
            cause: @escaping @Sendable (ProbeDoubt) async -> Cause? = { _ in nil }
        ) {
            self.route = route
            self.internet = internet
            self.diagnosis = diagnosis
            self.cause = cause
        }
    }

    /// An environment from its parts.
    package init(
        resolver: any NameResolver, network: Network, attempts: AttemptClient, time: any TimeSource,
        call: @escaping @Sendable (_ delay: Duration, @escaping @Sendable () -> Void) -> Void, version: String,
        echo: EchoClient = EchoClient(), connector: TCPConnector = TCPConnector(), own: OwnSockets? = nil
    ) {
        self.resolver = resolver
        self.network = network
        self.attempts = attempts
        self.time = time
        self.call = call
        self.version = version
        self.echo = echo
        self.connector = connector
        self.own = own
    }

    /// Resolvers have given up by then (resolv.conf(5)).
    private static let longestLookup = Duration.seconds(30)

    /// The addresses of a host; `timedOut` after `limit`.
    func addresses(of host: String, within limit: Duration) async -> Result<[IPAddress], ResolveFailure> {
        if let address = IPAddress(host) { return .success([address]) }
        let (answers, continuation) = AsyncStream.makeStream(
            of: Result<[IPAddress], ResolveFailure>.self, bufferingPolicy: .bufferingOldest(1))
        self.resolver.resolve(host) { continuation.yield($0) }
        // The call cannot be taken back: one for each probe waits until then.
        self.call(min(limit, Self.longestLookup)) { continuation.yield(.failure(.timedOut)) }
        for await answer in answers { return answer }
        return .failure(.timedOut)
    }
}
