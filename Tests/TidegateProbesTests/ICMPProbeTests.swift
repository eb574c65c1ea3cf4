import CLinux
import Testing
import TidegateCore
import TidegateNetwork
@testable import TidegateProbes
import TidegateTestKit

/// ICMP probes by real sockets, between namespaces.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct ICMPProbeTests {
    /// A probe from `hosts.here`, by raw sockets or, if `isPlain`, by datagram sockets.
    private static func probe(
        _ target: String, in hosts: ThreeHosts, isPlain: Bool = false, timeout: Duration = .seconds(20),
        targets: ProbeTargetPolicy = ProbeTargetPolicy(), cause: Cause? = nil,
        _ change: (inout ICMPProbeOptions) -> Void = { _ in }
    ) async throws -> ProbeReport {
        if isPlain { try hosts.here.sysctl("net.ipv4.ping_group_range=0 2147483647") }
        return try await self.fixture(hosts, timeout, targets, cause, change).probe(target)
    }

    private static func fixture(
        _ hosts: ThreeHosts, _ timeout: Duration = .seconds(20), _ targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        _ cause: Cause? = nil, _ change: (inout ICMPProbeOptions) -> Void = { _ in }
    ) -> ProbeFixture {
        let here = hosts.here
        let module = ProbeModule(prober: .icmp(.with(change)), timeout: timeout)
        return ProbeFixture(targets: targets, cause: cause, module: module, echo: EchoClient { here.enter() })
    }

    @Test(
        "A reply brings its time and hop limit, over both families and by both kinds of socket",
        arguments: [false, true])
    func reply(isPlain: Bool) async throws {
        let hosts = try ThreeHosts()
        for (target, family, hops) in [
            ("10.0.0.1", 4.0, 64.0), ("2001:db8::1", 6, 64), (ThreeHosts.farAddress.ipv4, 4, 63),
            (ThreeHosts.farAddress.ipv6, 6, 63), ("127.0.0.1", 4, 64), ("::1", 6, 64),
        ] {
            let report = try await Self.probe(target, in: hosts, isPlain: isPlain)
            #expect(report.value("probe_success") == 1, "\(target): \(report.failure as Any)")
            #expect(report.value("probe_icmp_reply_hop_limit") == hops && report.value("probe_ip_protocol") == family)
            #expect(report.phases(of: "icmp") == ["resolve", "setup", "rtt"])
            #expect((report.value("probe_icmp_duration_seconds", "rtt") ?? 0) > 0)
            #expect((report.value("probe_icmp_duration_seconds", "setup") ?? 0) > 0)
        }
    }

    @Test("Silence is no reply after 0 seconds: it has no time at all, and the rungs below say whose it is")
    func silence() async throws {
        let hosts = try ThreeHosts()
        try ThreeHosts.filter(hosts.far, "table ip t { chain c { type filter hook input priority 0; drop; }; }")
        let gateway = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "v0", lastConfirmed: nil))
        let report = try await Self.probe(
            ThreeHosts.farAddress.ipv4, in: hosts, timeout: .milliseconds(300), cause: gateway)
        #expect(report.value("probe_failure_info", "timed_out", "gateway") == 1, "\(report.failure as Any)")
        #expect(report.phases(of: "icmp") == ["resolve", "setup"])
        #expect(report.value("probe_icmp_reply_hop_limit") == nil)
        #expect(report.duration >= .milliseconds(300))
    }

    @Test(
        "An address that no host on the link has is the target's failure, before the time is up",
        arguments: [false, true])
    func absent(isPlain: Bool) async throws {
        let hosts = try ThreeHosts()
        try hosts.here.sysctl("net.ipv4.neigh.v0.retrans_time_ms=50")
        try hosts.here.sysctl("net.ipv6.neigh.v0.retrans_time_ms=50")
        for target in ["10.0.0.9", "2001:db8::9"] {
            let report = try await Self.probe(target, in: hosts, isPlain: isPlain)
            #expect(report.value("probe_failure_info", "unreachable", "theirs") == 1, "\(report.failure as Any)")
            #expect(report.failure?.text == "\(target) does not answer on the link")
            #expect(report.duration < .seconds(19))
        }
    }

    @Test("A router that discards the packet is named, and ends the probe at once", arguments: [false, true])
    func router(isPlain: Bool) async throws {
        let hosts = try ThreeHosts()
        let far = ThreeHosts.farAddress.ipv4
        // The first one: the kernel counts errors of this kind, and allows one a second.
        try hosts.gateway.ip("route add unreachable 192.0.2.0/24")
        let gone = try await Self.probe("192.0.2.1", in: hosts, isPlain: isPlain)
        #expect(gone.failure?.reason == "unreachable", "\(gone.failure as Any)")
        #expect(gone.failure?.text.contains("10.0.0.1") == true && gone.duration < .seconds(19))
        let expired = try await Self.probe(far, in: hosts, isPlain: isPlain) { $0.hopLimit = 1 }
        #expect(expired.value("probe_failure_info", "ttl_exceeded", "mine") == 1)
        #expect(
            expired.failure?.text
                == "10.0.0.1 says: time to live exceeded to \(far) (ICMP 11/0): the module's ttl is 1")
        // The gateway and the far host send it to each other.
        try hosts.far.sysctl("net.ipv4.ip_forward=1")
        try hosts.far.sysctl("net.ipv4.icmp_ratelimit=0")
        try hosts.gateway.ip("route add 203.0.113.0/24 via 198.51.100.2")
        let looping = try await Self.probe("203.0.113.1", in: hosts, isPlain: isPlain)
        #expect(looping.value("probe_failure_info", "ttl_exceeded", "path") == 1, "\(looping.failure as Any)")
    }

    @Test("A packet has the size of the module, and one that must stay whole fails by the MTU of the first short link")
    func size() async throws {
        let hosts = try ThreeHosts()
        let far = ThreeHosts.farAddress.ipv4
        for size in [1, 56, 1472, 20_000, 65_507] {
            let report = try await Self.probe("10.0.0.1", in: hosts) { $0.payloadSize = size }
            #expect(report.value("probe_success") == 1, "\(size): \(report.failure as Any)")
        }
        let own = try await Self.probe(far, in: hosts) {
            ($0.payloadSize, $0.forbidsFragments) = (1473, true)
        }
        #expect(own.value("probe_failure_info", "fragmentation_needed", "mine") == 1)
        #expect(own.failure?.text == "the link to \(far) has an MTU of 1500 bytes, which the packet does not fit into")
        try hosts.gateway.ip("link set w0 mtu 1300")
        try hosts.far.ip("link set s0 mtu 1300")
        // The second one, too, although the kernel knows of the first one's failure.
        for _ in 0..<2 {
            let short = try await Self.probe(far, in: hosts) { ($0.payloadSize, $0.forbidsFragments) = (1400, true) }
            #expect(short.value("probe_failure_info", "fragmentation_needed", "path") == 1, "\(short.failure as Any)")
            #expect(
                short.failure?.text == "10.0.0.1 says: a link on the way to \(far) has an MTU of 1300 bytes, which the "
                    + "packet does not fit into")
        }
        let fitting = try await Self.probe(far, in: hosts) { ($0.payloadSize, $0.forbidsFragments) = (1272, true) }
        #expect(fitting.value("probe_success") == 1, "\(fitting.failure as Any)")
        let divided = try await Self.probe(far, in: hosts) { $0.payloadSize = 1400 }
        #expect(divided.value("probe_success") == 1, "\(divided.failure as Any)")
    }

    @Test("Another user needs net.ipv4.ping_group_range, and the message says so")
    func stranger() async throws {
        let hosts = try ThreeHosts()
        let here = hosts.here
        let module = ProbeModule(prober: .icmp(), timeout: .seconds(20))
        func probe() async throws -> ProbeReport {
            let echo = EchoClient {
                here.enter()
                _ = tg_thread_become(65_534)
            }
            return try await ProbeFixture(module: module, echo: echo).probe("10.0.0.1")
        }
        let refused = try await probe()
        #expect(refused.value("probe_failure_info", "not_permitted", "mine") == 1)
        #expect(refused.failure?.text.contains("net.ipv4.ping_group_range") == true)
        try here.sysctl("net.ipv4.ping_group_range=65534 65534")
        let allowed = try await probe()
        #expect(allowed.value("probe_success") == 1, "\(allowed.failure as Any)")
    }

    @Test("A probe leaves by the module's address and interface")
    func source() async throws {
        let hosts = try ThreeHosts()
        try hosts.here.ip("addr add 10.0.0.3/24 dev v0")
        // Every host but 10.0.0.3 gets no answer.
        try ThreeHosts.filter(
            hosts.gateway, "table ip t { chain c { type filter hook input priority 0; ip saddr != 10.0.0.3 drop; }; }")
        let named = try await Self.probe("10.0.0.1", in: hosts) { $0.source.address = IPAddress("10.0.0.3") }
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
        let foreign = try await Self.probe("10.0.0.1", in: hosts) { $0.source.address = IPAddress("10.0.0.77") }
        #expect(foreign.failure?.text == "this host does not have the source address 10.0.0.77")
        #expect(foreign.value("probe_failure_info", "unreachable", "mine") == 1)
        let other = try await Self.probe("2001:db8::1", in: hosts) { $0.source.address = IPAddress("10.0.0.3") }
        #expect(other.failure?.reason == "resolve_failed")
        let bound = try await Self.probe("2001:db8::1", in: hosts) { $0.source.interface = "v0" }
        #expect(bound.value("probe_success") == 1, "\(bound.failure as Any)")
        let elsewhere = try await Self.probe("2001:db8:7::1", in: hosts) { $0.source.interface = "lo" }
        #expect(elsewhere.isGated && elsewhere.failure?.text == "no path to 2001:db8:7::1 by lo: no route")
        let missing = try await Self.probe("10.0.0.1", in: hosts) { $0.source.interface = "v7" }
        #expect(missing.failure?.text == "there is no interface v7")
    }

    @Test("A denied target is not asked, and neither is one without a path or with a port")
    func refused() async throws {
        let hosts = try ThreeHosts()
        let policy = ProbeTargetPolicy(allow: [.host("tide.test")])
        let denied = try await Self.probe("10.0.0.1", in: hosts, targets: policy)
        #expect(denied.failure?.reason == "target_denied" && denied.phases(of: "icmp") == ["resolve", "setup"])
        let port = try await Self.probe("10.0.0.1:80", in: hosts)
        #expect(port.failure?.reason == "invalid_target" && port.value("probe_ip_protocol") == 0)
        let gated = try await ProbeFixture(
            path: { _ in Verdict(level: .none, reason: .noCarrier) }, module: ProbeModule(prober: .icmp())
        ).probe("192.0.2.1")
        #expect(gated.isGated && gated.value("probe_failure_info", "no_path", "mine") == 1)
        #expect(gated.duration < .seconds(10))
    }

    @Test("Many probes at once get their own replies")
    func many() async throws {
        let hosts = try ThreeHosts()
        let fixture = Self.fixture(hosts)
        try await withThrowingTaskGroup(of: ProbeReport.self) { group in
            for number in 0..<300 {
                group.addTask { try await fixture.probe(number % 2 == 0 ? "10.0.0.1" : "2001:db8::1") }
            }
            for try await report in group { #expect(report.value("probe_success") == 1, "\(report.failure as Any)") }
        }
    }
}
