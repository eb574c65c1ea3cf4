package import TidegateCore

/// A client behind a router, a provider, and two servers behind the provider, with emulated links between them.
///
///     [client] lan ─ link ─ lan [router] wan ─ wan ─ router [provider] server ─ far ────── uplink [server]
///                                                                      other ─ otherFar ─ uplink [otherServer]
///
/// `there` is the direction from the client to the servers. A round trip takes 1 ms to the router, 11 ms to the
/// provider, and 31 ms to the servers. The network is IPv4 only, or IPv6 only with the addresses that ``translated(_:)``
/// gives; the provider rejects packets to all other addresses.
///
/// Each server answers on port 80: `/` immediately, `/slow?ms=N` after N milliseconds, `/bytes?n=N` with N bytes. The
/// client's name server runs beside the first server and answers every name with that server's address.
///
/// `lab.client.inside([…])` is the command that runs a program on the client. A test ends the lab with `end()`.
package final class SlowLab: Sendable {
    /// The client's address.
    package static let clientAddress = "10.0.0.2"
    /// The router's address on the client's side.
    package static let routerAddress = "10.0.0.1"
    /// The router's address on the provider's side.
    package static let routerOuterAddress = "100.64.0.1"
    /// The provider's address on the router's side.
    package static let providerAddress = "100.64.0.2"
    /// The address of the first server and of the name server.
    package static let serverAddress = "203.0.113.2"
    /// The address of the second server.
    package static let otherServerAddress = "198.51.100.2"
    /// A public address that the second server has, too: Tidegate compares with it.
    package static let sentinelAddress = "1.1.1.1"

    /// The client, whose interface `lan` is a veth: Tidegate treats TAP devices as tunnels.
    package let client: NetworkNamespace
    /// The router, with the interfaces `lan` and `wan`.
    package let router: NetworkNamespace
    /// The provider, with the interfaces `router`, `server` and `other`.
    package let provider: NetworkNamespace
    /// The first server, with the interface `uplink`.
    package let server: NetworkNamespace
    /// The second server, with the interface `uplink`.
    package let otherServer: NetworkNamespace

    /// The link from the client to the router: 0.5 ms.
    package let link: EmulatedLink
    /// The link from the router to the provider: 5 ms.
    package let wan: EmulatedLink
    /// The link from the provider to the first server: 10 ms.
    package let far: EmulatedLink
    /// The link from the provider to the second server: 10 ms.
    package let otherFar: EmulatedLink
    /// The name server.
    package let nameServer: ScriptedNameServer

    private let cable: NetworkNamespace
    private let emulator: LinkEmulator
    private let webServers: [RunningCommand]

    /// Creates the network and starts the servers; with the same seed, links lose the same frames of the same traffic.
    package init(_ family: AddressFamily = .ipv4, seed: UInt64 = 1) async throws {
        let hosts = try ["c", "k", "r", "p", "s", "o"].map { try NetworkNamespace("lab\($0)") }
        for host in hosts { try Self.prepare(host, for: family) }
        (self.client, self.cable, self.router) = (hosts[0], hosts[1], hosts[2])
        (self.provider, self.server, self.otherServer) = (hosts[3], hosts[4], hosts[5])
        let emulator = try LinkEmulator(seed: seed)
        self.emulator = emulator
        func link(
            _ a: (NetworkNamespace, String), _ b: (NetworkNamespace, String), _ delay: Duration
        ) throws -> EmulatedLink {
            try emulator.link(a: a, b: b, there: LinkShape(delay: delay), back: LinkShape(delay: delay))
        }
        self.link = try link((self.cable, "cable"), (self.router, "lan"), .microseconds(500))
        self.wan = try link((self.router, "wan"), (self.provider, "router"), .milliseconds(5))
        self.far = try link((self.provider, "server"), (self.server, "uplink"), .milliseconds(10))
        self.otherFar = try link((self.provider, "other"), (self.otherServer, "uplink"), .milliseconds(10))
        try Self.connect(self.client, through: self.cable)
        for host in [self.router, self.provider] {
            try host.run(["sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"])
        }
        for (host, plan) in zip(hosts, Self.plans) {
            try host.batch(family == .ipv4 ? plan : Self.translated(plan))
        }
        if family == .ipv6 {
            // Router advertisements name the router by its link-local address.
            try self.router.batch("addr add fe80::1/64 dev lan nodad")
            try self.client.batch("route replace default via fe80::1 dev lan")
        }
        let server = family == .ipv4 ? Self.serverAddress : Self.translated(Self.serverAddress)
        self.nameServer = try Self.startNameServer(at: server, in: self.server)
        try self.client.put("nameserver \(server)\n", "resolv.conf")
        self.webServers = try [self.server, self.otherServer].map {
            try $0.start(["python3", "-c", SlowLabServer.script])
        }
        // Asked on their own hosts, so that no link has carried a frame before the test begins.
        for host in [self.server, self.otherServer] {
            try await Program.answers("http://127.0.0.1/", prefix: host.inside())
        }
    }

    /// Stops the servers and the links; the namespaces are deleted when the lab is released.
    package func end() {
        for server in self.webServers { server.stop() }
        self.emulator.stop()
    }

    /// The text of `ip -batch` commands, or an address, with the addresses of a network that is IPv6 only.
    package static func translated(_ text: String) -> String {
        let pairs = [
            ("10.0.0.", "2001:db8:10::"), ("100.64.0.", "2001:db8:64::"), ("203.0.113.", "2001:db8:203::"),
            ("198.51.100.", "2001:db8:198::"), (self.sentinelAddress, "2001:4860:4860::8888"), ("/24", "/64"),
            ("/30", "/64"), ("/32", "/128"),
        ]
        return pairs.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    private static func prepare(_ host: NetworkNamespace, for family: AddressFamily) throws {
        // Nothing may depend on earlier traffic, such as limits of ICMP errors, or on the host's choice of TCP's
        // congestion control. BBR would never fill a queue; every kernel lets a namespace choose Reno.
        let isOff = family == .ipv4 ? 1 : 0
        try host.run([
            "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=\(isOff)",
            "net.ipv6.conf.default.disable_ipv6=\(isOff)", "net.ipv6.conf.default.accept_dad=0",
            "net.ipv6.icmp.ratelimit=0", "net.ipv4.icmp_ratelimit=0", "net.ipv4.tcp_no_metrics_save=1",
            "net.ipv4.tcp_congestion_control=reno",
        ])
    }

    /// Gives the client its interface: a veth pair into a bridge, which the first link leaves by its TAP device.
    private static func connect(_ client: NetworkNamespace, through cable: NetworkNamespace) throws {
        // With equal indexes at both ends the kernel would delay carrier events.
        try client.ip("link add lan index 77 type veth peer name port netns \(cable.name)")
        try cable.batch(
            """
            link add name hub type bridge
            link set port master hub
            link set cable master hub
            link set port up
            link set hub up
            """)
        try client.ip("link set lan up")
    }

    /// The addresses and routes of the hosts, in their order; the cable has none.
    private static let plans = [
        """
        addr add \(clientAddress)/24 dev lan
        route add default via \(routerAddress)
        """, "",
        """
        addr add \(routerAddress)/24 dev lan
        addr add \(routerOuterAddress)/30 dev wan
        route add default via \(providerAddress)
        """,
        """
        addr add \(providerAddress)/30 dev router
        addr add 203.0.113.1/30 dev server
        addr add 198.51.100.1/30 dev other
        route add 10.0.0.0/24 via \(routerOuterAddress)
        route add \(sentinelAddress)/32 via \(otherServerAddress)
        """,
        """
        addr add \(serverAddress)/30 dev uplink
        route add default via 203.0.113.1
        """,
        """
        addr add \(otherServerAddress)/30 dev uplink
        route add default via 198.51.100.1
        addr add \(sentinelAddress)/32 dev lo
        """,
    ]

    private static func startNameServer(
        at text: String, in namespace: NetworkNamespace
    ) throws -> ScriptedNameServer {
        guard let address = IPAddress(text) else { throw CommandFailure(description: "\(text) is no address") }
        return try ScriptedNameServer(after: .zero, at: address, in: namespace) { question in
            // Every name has one address, of this network's family.
            let type: UInt16 = address.family == .ipv4 ? 1 : 28
            let isAsked = DNSMessageBytes.type(of: question) == type
            return [DNSMessageBytes(answers: isAsked ? [.init(type, address.octets)] : []).reply(to: question)]
        }
    }
}
