package import TidegateCore
package import TidegateNetwork
package import TidegateTransfer

/// The subject of a diagnosis after a failed probe.
package enum ProbeSubject: Sendable, Hashable {
    /// An address, optionally with a port.
    case target(Target)
    /// The internet as a whole, with this host's resolvers.
    case internet
}

/// A failure whose party no observation shows.
package struct ProbeDoubt: Sendable, Hashable {
    package var subject: ProbeSubject
    /// The address of the connection; nil if there was none.
    package var address: IPAddress?
    /// True for a scheduled run, which no client waits for.
    package var isScheduled: Bool
}

/// What probes need from the host that they run on.
package struct ProbeEnvironment: Sendable {
    /// Resolves the names of targets.
    let resolver: any NameResolver
    let network: Network
    /// Makes the requests.
    let attempts: AttemptClient
    /// Sends ICMP echo requests.
    let echo: EchoClient
    /// Sends UDP queries.
    let datagrams = DatagramClient()
    /// Opens TCP connections that are not for HTTP requests.
    let connector: TCPConnector
    /// Where probes register their sockets; nil if no observer reads them.
    let own: OwnSockets?
    let time: any TimeSource
    /// Calls a function once after a delay.
    let call: @Sendable (_ delay: Duration, @escaping @Sendable () -> Void) -> Void
    /// The version for the User-Agent field.
    let version: String

    /// Queries about the state of the network.
    package struct Network: Sendable {
        /// What the kernel would do with a packet to an address.
        let route: @Sendable (IPAddress) async -> AddressRoute
        /// Whether the kernel has a route for packets to an address that are bound to an interface.
        let isRouted: @Sendable (IPAddress, String) async -> Bool
        /// What the kernel would do with a packet to the internet, used for names without an address.
        let internet: @Sendable () -> Verdict
        /// What the latest diagnosis of this host found for a family, unless it is too old.
        let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?
        /// Finds out why a target cannot be reached if no observation shows it; nil if unknown.
        let cause: @Sendable (ProbeDoubt) async -> Cause?

        /// The queries.
        package init(
            route: @escaping @Sendable (IPAddress) async -> AddressRoute,
            isRouted: @escaping @Sendable (IPAddress, String) async -> Bool = { _, _ in true },
            internet: @escaping @Sendable () -> Verdict,
            diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil },
            cause: @escaping @Sendable (ProbeDoubt) async -> Cause? = { _ in nil }
        ) {
            (self.route, self.isRouted) = (route, isRouted)
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

    /// Resolvers give up before this time (resolv.conf(5)).
    private static let longestLookup = Duration.seconds(30)

    /// The addresses of a host; `timedOut` after `limit`.
    func addresses(of host: String, within limit: Duration) async -> Result<[IPAddress], ResolveFailure> {
        if let address = IPAddress(host) { return .success([address]) }
        let (answers, continuation) = AsyncStream.makeStream(
            of: Result<[IPAddress], ResolveFailure>.self, bufferingPolicy: .bufferingOldest(1))
        self.resolver.resolve(host) { continuation.yield($0) }
        // The call cannot be cancelled, so each probe leaves one pending until then.
        self.call(min(limit, Self.longestLookup)) { continuation.yield(.failure(.timedOut)) }
        for await answer in answers { return answer }
        return .failure(.timedOut)
    }
}
