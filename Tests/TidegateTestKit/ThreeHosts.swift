/// Three namespaces in a row: this host, its gateway, and a far host behind the gateway, with both families.
///
/// `here` v0 (index 77) 10.0.0.2 and 2001:db8::2, default by the gateway; `gateway` p0 10.0.0.1 and 2001:db8::1, w0
/// 198.51.100.1 and 2001:db8:2::1; `far` s0 198.51.100.2 and 2001:db8:2::2. The gateway forwards and limits no ICMP.
package struct ThreeHosts: Sendable {
    /// This host.
    package let here: NetworkNamespace
    /// Its router.
    package let gateway: NetworkNamespace
    /// The far host.
    package let far: NetworkNamespace

    /// The far host's addresses.
    package static let farAddress = (ipv4: "198.51.100.2", ipv6: "2001:db8:2::2")
    /// The gateway's addresses on this side.
    package static let gatewayAddress = (ipv4: "10.0.0.1", ipv6: "2001:db8::1")

    /// Creates the hosts with links, addresses and routes.
    package init() throws {
        self.here = try NetworkNamespace("h")
        self.gateway = try NetworkNamespace("g")
        self.far = try NetworkNamespace("f")
        // A gateway cannot resolve neighbours before duplicate address detection of its link-local address, which takes seconds.
        for host in [self.here, self.gateway, self.far] { try host.sysctl("net.ipv6.conf.default.accept_dad=0") }
        // With equal indexes at both ends the kernel would delay carrier events.
        try self.here.ip("link add v0 index 77 type veth peer name p0 netns \(self.gateway.name)")
        try self.gateway.ip("link add w0 index 88 type veth peer name s0 netns \(self.far.name)")
        try self.gateway.batch(
            """
            link set p0 up
            link set w0 up
            addr add 10.0.0.1/24 dev p0
            addr add 2001:db8::1/64 dev p0 nodad
            addr add 198.51.100.1/24 dev w0
            addr add 2001:db8:2::1/64 dev w0 nodad
            """)
        try self.far.batch(
            """
            link set s0 up
            addr add 198.51.100.2/24 dev s0
            addr add 2001:db8:2::2/64 dev s0 nodad
            route add default via 198.51.100.1
            route add default via 2001:db8:2::1
            """)
        try self.here.batch(
            """
            link set v0 up
            addr add 10.0.0.2/24 dev v0
            addr add 2001:db8::2/64 dev v0 nodad
            route add default via 10.0.0.1
            route add default via 2001:db8::1
            """)
        try self.gateway.run([
            "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
            "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0",
        ])
        try self.here.waitForLinks("v0")
        try self.gateway.waitForLinks("p0", "w0")
        try self.far.waitForLinks("s0")
    }

    /// Loads a ruleset of nft(8) into a namespace.
    package static func filter(_ namespace: NetworkNamespace, _ rules: String) throws {
        try NamespaceCommand.check(["ip", "netns", "exec", namespace.name, "nft", "-f", "-"], input: rules + "\n")
    }
}
