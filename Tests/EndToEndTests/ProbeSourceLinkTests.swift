import Foundation
import Testing
import TidegateTestKit

/// Probes with a source on a host with two links that both lead to the target.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3(1)"),
    .timeLimit(.minutes(5)))
struct ProbeSourceLinkTests {
    private static let probers = ["http", "tcp"]

    @Test("A probe leaves by the link of its interface or its address, and else by the routes'", arguments: probers)
    func links(_ prober: String) async throws {
        let links = try await TwoLinks()
        for (target, source, answer) in [
            (TwoLinks.target, "", "left 10.1.0.2"), (TwoLinks.target, "source_interface: right", "right 10.2.0.2"),
            (TwoLinks.target, "source_interface: left", "left 10.1.0.2"),
            (TwoLinks.target, "source_ip_address: 10.2.0.2", "right 10.2.0.2"),
            (TwoLinks.target, "source_ip_address: 10.1.0.9", "left 10.1.0.9"),
            (TwoLinks.target, "source_ip_address: 10.2.0.9, source_interface: right", "right 10.2.0.9"),
            (TwoLinks.target6, "", "left 2001:db8:1::2"),
            (TwoLinks.target6, "source_interface: right", "right 2001:db8:2::2"),
        ] {
            let probe = try await links.probe(prober, target, source: source, expecting: answer)
            #expect(probe.status == 0, "\(target) \(source): \(probe)")
        }
        let foreign = try await links.probe(prober, TwoLinks.target, source: "source_ip_address: 10.9.9.9")
        #expect(foreign.status == 1 && foreign.errors.contains("this host does not have the source address 10.9.9.9"))
    }

    @Test(
        "A link that leads nowhere costs no time, and the other one still leads there",
        arguments: ["http", "tcp", "dns", "dns_tcp", "icmp"])
    func withoutPath(_ prober: String) async throws {
        let links = try await TwoLinks()
        func expectGated(_ target: String, by link: String, _ sentence: String) async throws {
            let probe = try await links.probe(prober, target, source: "source_interface: \(link)")
            #expect(probe.status == 3 && probe.output.contains("\nprobe_gated 1\n"), "\(probe)")
            #expect(probe.errors.contains("no path to \(target)") && probe.errors.contains(sentence), "\(probe)")
            #expect(try #require(Samples(probe.output)["probe_duration_seconds"]) < 2, "\(probe)")
        }
        let missing = try await links.probe(prober, TwoLinks.target, source: "source_interface: nowhere7")
        #expect(missing.status == 1 && missing.output.contains("\nprobe_gated 0\n"), "\(missing)")
        #expect(missing.errors.contains("there is no interface nowhere7"), "\(missing)")
        // Without a route the kernel takes an IPv4 address for one on the link, and no IPv6 address.
        try await expectGated("2001:db8:77::1", by: "right", "no path to 2001:db8:77::1 by right: no route")
        try links.pullRightCable()
        try await expectGated(TwoLinks.target, by: "right", "right has no carrier")
        try links.here.ip("link set right down")
        try await expectGated(TwoLinks.target, by: "right", "right is switched off")
        try await expectGated(TwoLinks.target6, by: "right", "right is switched off")
        let other = try await links.probe(prober, TwoLinks.target, source: "source_interface: left")
        #expect(other.output.contains("\nprobe_gated 0\n"), "\(other)")
        #expect(prober.hasPrefix("dns") || other.status == 0, "\(other)")
    }

    @Test(
        "A router that knows no way is not this host without a route",
        arguments: ["http", "tcp", "dns", "dns_tcp", "icmp"])
    func router(_ prober: String) async throws {
        let links = try await TwoLinks()
        // Without a route, by a route that says unreachable, and by one that prohibits it.
        let targets = ["192.0.2.1", "203.0.113.1", "203.0.113.129", TwoLinks.prohibited6]
        for (target, source) in targets.flatMap({ [($0, "source_interface: right"), ($0, "")] }) {
            let probe = try await links.probe(prober, target, source: source)
            #expect(probe.status == 1 && probe.output.contains("\nprobe_gated 0\n"), "\(target): \(probe)")
            #expect(
                !probe.errors.contains("no path") && !probe.output.contains("party=\"mine\""), "\(target): \(probe)")
            #expect(try #require(Samples(probe.output)["probe_duration_seconds"]) < 2, "\(target): \(probe)")
        }
    }
}

/// A host with the links `left` and `right`, and behind each another host that has the same addresses.
///
/// By the routes the target is on the left; from the addresses of `right` it is on the right.
private final class TwoLinks {
    static let target = "198.51.100.1"
    static let target6 = "2001:db8:9::1"
    static let prohibited6 = "2001:db8:66::1"

    let here: NetworkNamespace
    private let peers: [(name: String, host: NetworkNamespace)]
    private let bench: EndToEndFixture

    // Says on which side it is, and where the connection comes from.
    private static let server = """
        import socket, sys
        listener = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)
        print("listening", flush=True)
        while True:
            connection, peer = listener.accept()
            connection.recv(4096)
            text = sys.argv[1] + " " + peer[0].removeprefix("::ffff:") + "\\n"
            connection.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(text), text.encode()))
            connection.close()
        """

    init() async throws {
        self.bench = try EndToEndFixture()
        self.here = try NetworkNamespace("h")
        try self.here.sysctl("net.ipv6.conf.default.accept_dad=0")
        var peers: [(name: String, host: NetworkNamespace)] = []
        for (number, name) in [(1, "left"), (2, "right")] {
            let host = try NetworkNamespace(name)
            try host.sysctl("net.ipv6.conf.default.accept_dad=0")
            try self.here.ip("link add \(name) index \(76 + number) type veth peer name cable netns \(host.name)")
            try host.batch(
                """
                link set cable up
                addr add 10.\(number).0.1/24 dev cable
                addr add 2001:db8:\(number)::1/64 dev cable nodad
                addr add \(Self.target)/32 dev lo
                addr add \(Self.target6)/128 dev lo nodad
                route add unreachable 203.0.113.0/24
                route add prohibit 203.0.113.128/25
                route add prohibit 2001:db8:66::/48
                """)
            for setting in [
                "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0", "net.ipv6.conf.all.forwarding=1",
                "net.ipv6.icmp.ratelimit=0",
            ] { try host.sysctl(setting) }
            try self.here.batch(
                """
                link set \(name) up
                addr add 10.\(number).0.2/24 dev \(name)
                addr add 10.\(number).0.9/24 dev \(name)
                addr add 2001:db8:\(number)::2/64 dev \(name) nodad
                route add default via 10.\(number).0.1 dev \(name) metric \(number)
                route add 2001:db8:9::/48 via 2001:db8:\(number)::1 dev \(name) metric \(number)
                route add 2001:db8:66::/48 via 2001:db8:\(number)::1 dev \(name) metric \(number)
                route add default via 10.\(number).0.1 dev \(name) table 10\(number)
                rule add from 10.\(number).0.0/24 table 10\(number)
                """)
            try self.here.waitForLinks(name)
            try host.waitForLinks("cable")
            peers.append((name, host))
        }
        self.peers = peers
        for (name, host) in peers {
            try await self.bench.start(host.inside(["python3", "-c", Self.server, name]), until: "listening")
        }
    }

    func pullRightCable() throws {
        for peer in self.peers where peer.name == "right" { try peer.host.ip("link set cable down") }
    }

    /// One probe from a source; by `http` and `tcp` the text of the answer is looked for.
    func probe(
        _ prober: String, _ target: String, source: String, expecting answer: String = "(left|right) "
    ) async throws -> Program.Output {
        let options =
            switch prober {
            case "http": "http: {fail_if_body_not_matches_regexp: ['^\(answer)']"
            case "tcp": "tcp: {query_response: [{send: 'GET / HTTP/1.0'}, {expect: '^\(answer)'}]"
            case "dns": "dns: {query_name: a.test, transport_protocol: udp"
            case "dns_tcp": "dns: {query_name: a.test, transport_protocol: tcp"
            default: "icmp: {payload_size: 56"
            }
        let kind = String(prober.prefix { $0 != "_" })
        try self.bench.write(
            "modules: {m: {prober: \(kind), timeout: 30s, \(options)\(source.isEmpty ? "" : ", ")\(source)}}}\n",
            to: "modules.yml")
        let host = target.contains(":") && kind != "icmp" ? "[\(target)]" : target
        return try await Program.run(
            self.here.inside([
                BuiltProduct.path(of: "tidegate"), "probe", "--config.file", self.bench.path("modules.yml"), "m",
                kind == "tcp" ? "\(host):80" : host,
            ]))
    }
}
