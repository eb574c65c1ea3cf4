import Foundation
import Tidegate
import TidegateTestKit

/// A small internet in namespaces, in which outages are made: a client, its router, two routers of the provider, servers
/// and the rest of the internet.
///
/// `client` uplink 10.77.0.2 and up2 10.78.0.2; `router` lan 10.77.0.1, lan2 10.78.0.1, wan 100.64.0.2; `provider`, its
/// edge, 100.64.0.1 and 100.65.0.1; `core` 100.65.0.2, 203.0.113.1 and 198.51.100.1; `servers` everything else in
/// 203.0.113.0/24; `internet` 198.51.100.2 and the sentinels. IPv6 alike: 2001:db8:77::, 2001:db8:100::, 2001:db8:101::,
/// 2001:db8:113::, 2001:db8:198::. Routers limit no ICMP, so that one test does not use up what the next one needs.
final class SituationLab: Sendable {
    enum Host: Sendable { case client, router, provider, core, servers, internet }

    /// The lab that the suite's trait has built.
    @TaskLocal static var current: SituationLab?

    /// The files and programs of the lab.
    let files: SituationFiles
    private let client: NetworkNamespace
    private let router: NetworkNamespace
    private let provider: NetworkNamespace
    private let core: NetworkNamespace
    private let servers: NetworkNamespace
    private let internet: NetworkNamespace
    private let services: SituationServices

    init() async throws {
        self.client = try NetworkNamespace("c")
        self.router = try NetworkNamespace("r")
        self.provider = try NetworkNamespace("p")
        self.core = try NetworkNamespace("k")
        self.servers = try NetworkNamespace("s")
        self.internet = try NetworkNamespace("i")
        self.files = try await SituationFiles()
        for namespace in [self.client, self.router, self.provider, self.core, self.servers, self.internet] {
            // Addresses are usable at once, and survive a link that goes down for a while.
            try namespace.run(
                ["sysctl", "-q", "-w", "net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.keep_addr_on_down=1"])
        }
        try Self.link(self.client, self.router, self.provider)
        try Self.link(self.provider, self.core, self.servers, self.internet)
        for namespace in [self.router, self.provider, self.core, self.servers, self.internet] {
            try namespace.run([
                "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                "net.ipv4.icmp_ratemask=0", "net.ipv6.icmp.ratelimit=0",
            ])
        }
        self.services = try await SituationServices(self.files, in: self.servers)
    }

    // With equal indexes at both ends the kernel would delay carrier events.
    private static func link(
        _ client: NetworkNamespace, _ router: NetworkNamespace, _ provider: NetworkNamespace
    ) throws {
        try client.ip("link add uplink index 77 type veth peer name lan netns \(router.name)")
        try client.ip("link add up2 index 78 type veth peer name lan2 netns \(router.name)")
        try router.ip("link add wan index 88 type veth peer name cpe netns \(provider.name)")
        try client.batch("link set uplink up\nlink set up2 up\n" + self.clientAddresses)
        try router.batch(
            """
            link set lan up
            link set lan2 up
            link set wan up
            addr add 10.77.0.1/24 dev lan
            addr add 10.78.0.1/24 dev lan2
            addr add 100.64.0.2/24 dev wan
            addr add 2001:db8:77::1/64 dev lan nodad
            addr add 2001:db8:100::2/64 dev wan nodad
            route add default via 100.64.0.1
            route add default via 2001:db8:100::1
            """)
    }

    private static func link(
        _ provider: NetworkNamespace, _ core: NetworkNamespace, _ servers: NetworkNamespace,
        _ internet: NetworkNamespace
    ) throws {
        try provider.ip("link add north index 98 type veth peer name south netns \(core.name)")
        try core.ip("link add rack index 99 type veth peer name s0 netns \(servers.name)")
        try core.ip("link add peering index 100 type veth peer name i0 netns \(internet.name)")
        try provider.batch(
            """
            link set cpe up
            link set north up
            addr add 100.64.0.1/24 dev cpe
            addr add 100.65.0.1/24 dev north
            addr add 2001:db8:100::1/64 dev cpe nodad
            addr add 2001:db8:101::1/64 dev north nodad
            route add 10.76.0.0/14 via 100.64.0.2
            route add 2001:db8:77::/64 via 2001:db8:100::2
            route add default via 100.65.0.2
            route add default via 2001:db8:101::2
            """)
        try core.batch(
            """
            link set south up
            link set rack up
            link set peering up
            addr add 100.65.0.2/24 dev south
            addr add 203.0.113.1/24 dev rack
            addr add 198.51.100.1/24 dev peering
            addr add 2001:db8:101::2/64 dev south nodad
            addr add 2001:db8:113::1/64 dev rack nodad
            addr add 2001:db8:198::1/64 dev peering nodad
            route add 10.76.0.0/14 via 100.65.0.1
            route add 100.64.0.0/24 via 100.65.0.1
            route add 2001:db8:77::/64 via 2001:db8:101::1
            route add 2001:db8:100::/64 via 2001:db8:101::1
            route add default via 198.51.100.2
            route add default via 2001:db8:198::2
            """)
        try servers.batch(SituationServices.addresses)
        // The sentinels are there while the internet is.
        try internet.batch(
            """
            link set i0 up
            addr add 198.51.100.2/24 dev i0
            addr add 2001:db8:198::2/64 dev i0 nodad
            route add default via 198.51.100.1
            route add default via 2001:db8:198::1
            """)
        for sentinels in ReachabilityConfiguration.defaultSentinels.values {
            try internet.batch(sentinels.map { "addr add \($0) dev lo" }.joined(separator: "\n"))
        }
    }

    // What the kernel forgets when the uplink is down, too.
    private static let clientAddresses = """
        addr replace 10.77.0.2/24 dev uplink
        addr replace 10.78.0.2/24 dev up2
        addr replace 2001:db8:77::2/64 dev uplink nodad
        route replace default via 10.77.0.1 dev uplink metric 100
        route replace default via 2001:db8:77::1 dev uplink metric 1024
        """

    func namespace(_ host: Host) -> NetworkNamespace {
        switch host {
        case .client: self.client
        case .router: self.router
        case .provider: self.provider
        case .core: self.core
        case .servers: self.servers
        case .internet: self.internet
        }
    }

    // MARK: - Outages

    /// Makes an outage for as long as `body` runs.
    ///
    /// The client knows no neighbour before, unless it keeps them.
    func during<Result>(
        keepingNeighbours: Bool = false, _ outages: Outage..., body: (SituationLab) async throws -> Result
    ) async throws -> Result {
        try await self.during(outages, keepingNeighbours: keepingNeighbours, body: body)
    }

    func during<Result>(
        _ outages: [Outage], keepingNeighbours: Bool = false, body: (SituationLab) async throws -> Result
    ) async throws -> Result {
        if !keepingNeighbours { try self.client.ip("neigh flush all") }
        var made: [Outage] = []
        defer {
            for outage in made.reversed() { try? outage.end(self) }
            try? self.client.batch("link set uplink up\n" + Self.clientAddresses)
        }
        for outage in outages {
            made.append(outage)
            try outage.begin(self)
        }
        return try await body(self)
    }
}

/// Something of the lab does not work.
struct SituationError: Error, CustomStringConvertible {
    let description: String
}

extension SituationLab {
    /// Something that is wrong for a while.
    struct Outage: Sendable {
        let begin: @Sendable (SituationLab) throws -> Void
        let end: @Sendable (SituationLab) throws -> Void

        /// Rules of nft(8) on a host: the chains of a table.
        static func rules(_ host: Host, _ chains: String) -> Outage {
            Outage(
                begin: { try ThreeHosts.filter($0.namespace(host), "table inet outage { \(chains); }") },
                end: { try $0.namespace(host).run(["nft", "delete table inet outage"]) })
        }

        /// Every packet that arrives at a link is lost, also those of the link layer.
        static func dark(_ host: Host, _ link: String) -> Outage {
            Outage(
                begin: {
                    try ThreeHosts.filter(
                        $0.namespace(host),
                        """
                        table netdev dark { chain in {
                        type filter hook ingress device \(link) priority 0; policy drop; }; }
                        """)
                },
                end: { try $0.namespace(host).run(["nft", "delete table netdev dark"]) })
        }

        /// A command of ip(8), and the one that undoes it.
        static func ip(_ host: Host, _ begin: String, undo end: String) -> Outage {
            Outage(begin: { try $0.namespace(host).ip(begin) }, end: { try $0.namespace(host).ip(end) })
        }

        /// A router answers for itself as seldom as Linux routers do by themselves (icmp(7), ip-sysctl).
        static func limitedICMP(_ host: Host) -> Outage {
            Outage(
                begin: { try $0.namespace(host).run(["sysctl", "-q", "-w", "net.ipv4.icmp_ratemask=6168"]) },
                end: { try $0.namespace(host).run(["sysctl", "-q", "-w", "net.ipv4.icmp_ratemask=0"]) })
        }

        /// What `/etc/resolv.conf` says.
        static func resolvers(_ servers: String..., searching domains: [String] = []) -> Outage {
            Outage(
                begin: { try $0.files.setResolvers(servers, searching: domains) },
                end: { try $0.files.setResolvers(["203.0.113.53"]) })
        }

        /// What `/etc/hosts` says besides localhost.
        static func hosts(_ line: String) -> Outage {
            Outage(begin: { try $0.files.setHosts(line) }, end: { try $0.files.setHosts("") })
        }
    }
}
