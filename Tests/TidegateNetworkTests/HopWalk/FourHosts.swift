internal import TidegateTestKit

/// This host, its gateway, a provider's router behind that, and a server behind the provider, with both families.
///
/// `here` 10.0.0.2, `gateway` 10.0.0.1, `provider` 198.51.100.2, `server` 203.0.113.10; 2001:db8::2, 2001:db8::1,
/// 2001:db8:2::2, 2001:db8:3::10.
struct FourHosts {
    let near: ThreeHosts
    let server: NetworkNamespace

    var here: NetworkNamespace { self.near.here }
    var gateway: NetworkNamespace { self.near.gateway }
    var provider: NetworkNamespace { self.near.far }

    init() throws {
        self.near = try ThreeHosts()
        self.server = try NetworkNamespace("b")
        try self.server.sysctl("net.ipv6.conf.default.accept_dad=0")
        try self.near.far.ip("link add t0 index 99 type veth peer name b0 netns \(self.server.name)")
        try self.near.far.batch(
            """
            link set t0 up
            addr add 203.0.113.1/24 dev t0
            addr add 2001:db8:3::1/64 dev t0 nodad
            """)
        try self.server.batch(
            """
            link set b0 up
            addr add 203.0.113.10/24 dev b0
            addr add 2001:db8:3::10/64 dev b0 nodad
            route add default via 203.0.113.1
            route add default via 2001:db8:3::1
            """)
        try self.near.gateway.batch(
            """
            route add 203.0.113.0/24 via 198.51.100.2
            route add 2001:db8:3::/64 via 2001:db8:2::2
            """)
        for host in [self.near.far, self.server] {
            try host.run([
                "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0",
            ])
        }
        try self.provider.waitForLinks("t0")
        try self.server.waitForLinks("b0")
    }
}
