import Glibc
import Synchronization
import Testing
import TidegateLoop
import TidegateCore
@testable import TidegateNetwork
import TidegateTestKit

/// A client, a host next to it, and a real name server there; each in a network namespace.
private final class NameServerFixture: Sendable {
    let here: NetworkNamespace
    let there: NetworkNamespace
    let client: DNSClient
    let server = IPAddress(ipv4: 0x0A09_0002)
    private let running = Mutex<[RunningCommand]>([])

    static let isAvailable = NetworkNamespace.isAvailable
    static let requirement: Comment = "network namespaces need root and ip(8)"

    init() throws {
        let here = try NetworkNamespace("dns")
        let there = try NetworkNamespace("dnsp")
        try here.ip("link add v0 type veth peer name p0 netns \(there.name)")
        try here.batch("addr add 10.9.0.1/24 dev v0\nlink set v0 up")
        try there.batch("addr add 10.9.0.2/24 dev p0\nlink set p0 up\naddr add fe80::53/64 dev p0 nodad")
        (self.here, self.there) = (here, there)
        self.client = DNSClient(time: SystemClock()) { here.enter() }
    }

    deinit {
        self.client.stop()
        for command in self.running.withLock({ $0 }) { command.stop() }
    }

    /// Starts dnsmasq there, and waits until it answers.
    func serve() async throws {
        let many = (1...80).map { "--host-record=many.lab.test,10.9.2.\($0),120" }
        let command = try self.there.start(
            [
                "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
                "--pid-file=", "--local=/lab.test/", "--host-record=api.lab.test,10.9.0.7,2001:db8::7,30",
                "--cname=www.lab.test,api.lab.test,20", "--host-record=four.lab.test,10.9.0.4,600",
            ] + many)
        self.running.withLock { $0.append(command) }
        let isServing = await eventually {
            await self.client.ask("four.lab.test", at: self.server, port: 53, within: .milliseconds(500)).isAnswer
        }
        try #require(isServing, "dnsmasq does not answer")
    }

    /// Applies a ruleset of nft(8) there.
    func filter(_ rules: String) throws {
        try NamespaceCommand.check(["ip", "netns", "exec", self.there.name, "nft", "-f", "-"], input: rules + "\n")
    }

    func ask(
        _ name: String, _ type: DNSQuestion.RecordType = .a, at server: IPAddress? = nil,
        within limit: Duration = .seconds(5)
    ) async -> DNSOutcome {
        await self.client.ask(name, type, at: server ?? self.server, port: 53, within: limit)
    }

    /// The index of a link here.
    func index(of link: String) throws -> UInt32 {
        let found = Atomic<UInt32>(0)
        try self.here.inside { found.store(if_nametoindex(link), ordering: .releasing) }
        return found.load(ordering: .acquiring)
    }
}

/// Answers of a real name server, and of routers and firewalls before it.
@Suite(.enabled(if: NameServerFixture.isAvailable, NameServerFixture.requirement)) struct NameServerScenarioTests {
    @Test("dnsmasq's answers are parsed: both families, an alias, no such record, no such name, a refusal")
    func answers() async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        let (four, six) = (IPAddress(ipv4: 0x0A09_0007), try #require(IPAddress("2001:db8::7")))
        #expect(await fixture.ask("api.lab.test") == .answered([four], timeToLive: .seconds(30)))
        #expect(await fixture.ask("api.lab.test", .aaaa) == .answered([six], timeToLive: .seconds(30)))
        #expect(await fixture.ask("www.lab.test") == .answered([four], timeToLive: .seconds(20)))
        #expect(await fixture.ask("four.lab.test", .aaaa) == .noData)
        #expect(await fixture.ask("gone.lab.test") == .nameNotFound)
        #expect(await fixture.ask("elsewhere.example") == .failed(code: "REFUSED"))
    }

    @Test("An answer of eighty addresses comes over TCP")
    func long() async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        guard case .answered(let addresses, let timeToLive) = await fixture.ask("many.lab.test") else {
            Issue.record("no answer")
            return
        }
        #expect(Set(addresses) == Set((1...80).map { IPAddress(ipv4: 0x0A09_0200 + $0) }))
        #expect(timeToLive == .seconds(120))
    }

    @Test("A server without a route is unreachable at once, and no packet is sent")
    func noRoute() async throws {
        let fixture = try NameServerFixture()
        let far = try #require(IPAddress("203.0.113.53"))
        #expect(await fixture.ask("api.lab.test", at: far, within: .seconds(60)) == .unreachable(nil))
        try fixture.here.ip("route add prohibit 203.0.113.0/24")
        #expect(await fixture.ask("api.lab.test", at: far, within: .seconds(60)) == .unreachable(nil))
        try fixture.here.ip("route replace blackhole 203.0.113.0/24")
        #expect(await fixture.ask("api.lab.test", at: far, within: .seconds(60)) == .unreachable(nil))
    }

    @Test("A server whose packets are dropped times out, and answers again afterwards")
    func dropped() async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        try fixture.filter("table inet f { chain i { type filter hook input priority 0; udp dport 53 drop; }; }")
        #expect(await fixture.ask("api.lab.test", within: .milliseconds(1500)) == .timedOut)
        try fixture.filter("delete table inet f")
        #expect(await fixture.ask("api.lab.test").isAnswer)
    }

    @Test("A server that packets are lost on the way to is not dead", arguments: ["mod 2 0", "mod 4 < 3"])
    func lossy(_ lost: String) async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        try fixture.filter(
            "table inet f { chain i { type filter hook input priority 0; udp dport 53 numgen inc \(lost) drop; }; }")
        #expect(await fixture.ask("api.lab.test", within: .milliseconds(2_500)).isAnswer)
    }

    @Test(
        "An answer after 1.5 s counts within its time; one after it has been given up says nothing about the next question"
    )
    func slow() async throws {
        let fixture = try NameServerFixture()
        let server = try ScriptedNameServer(after: .milliseconds(1_500), at: fixture.server, in: fixture.there) {
            let last: UInt8 = DNSMessageBytes.firstLabel(of: $0) == "first" ? 1 : 2
            return [DNSMessageBytes(answers: [DNSMessageBytes.a(last)]).reply(to: $0)]
        }
        let clock = ContinuousClock()
        let start = clock.now
        #expect(await fixture.ask("first.lab.test", within: .milliseconds(300)) == .timedOut)
        let second = DNSOutcome.answered([IPAddress(ipv4: 0xC000_0202)], timeToLive: .seconds(300))
        #expect(await fixture.ask("second.lab.test", within: .seconds(60)) == second)
        #expect(clock.now - start >= .milliseconds(1_800))
        #expect(server.datagramCount > 2)
    }

    @Test("After a name that does not exist the server is still healthy: another name is answered")
    func nameOnly() async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        let gone = await fixture.ask("gone.lab.test")
        #expect(gone == .nameNotFound && gone.isAnswer)
        #expect(await fixture.ask("api.lab.test").isAnswer)
    }

    @Test("A stub with a closed port refuses at once")
    func deadStub() async throws {
        let fixture = try NameServerFixture()
        let stub = IPAddress(ipv4: 0x7F00_0035)
        #expect(await fixture.ask("api.lab.test", at: stub, within: .seconds(60)) == .refused)
        #expect(await fixture.ask("api.lab.test", within: .seconds(60)) == .refused, "a host without a server, too")
    }

    @Test("A router without a route is named in the outcome")
    func routerWithoutRoute() async throws {
        let fixture = try NameServerFixture()
        try fixture.there.sysctl("net.ipv4.ip_forward=1")
        try fixture.here.ip("route add default via 10.9.0.2")
        let far = try #require(IPAddress("203.0.113.53"))
        let refusal = ICMPError(offender: fixture.server, type: 3, code: 0)
        #expect(await fixture.ask("api.lab.test", at: far, within: .seconds(60)) == .unreachable(refusal))
    }

    @Test("A firewall on the way is not mistaken for the server, even if it reports a closed port")
    func firewall() async throws {
        let fixture = try NameServerFixture()
        try fixture.there.sysctl("net.ipv4.ip_forward=1")
        // By another link: a redirect would use up the kernel's rate limit for ICMP messages.
        try fixture.there.batch("link add q0 type veth peer name q1\nlink set q0 up\nlink set q1 up")
        try fixture.there.ip("route add 203.0.113.0/24 dev q0")
        try fixture.here.ip("route add default via 10.9.0.2")
        let far = try #require(IPAddress("203.0.113.53"))
        try fixture.filter("table inet f { chain w { type filter hook forward priority 0; udp dport 53 reject; }; }")
        let closed = ICMPError(offender: fixture.server, type: 3, code: 3)
        #expect(await fixture.ask("api.lab.test", at: far) == .unreachable(closed))
        try fixture.filter(
            """
            delete table inet f
            table inet f { chain w { type filter hook forward priority 0; reject with icmpx type admin-prohibited; }; }
            """)
        let forbidden = ICMPError(offender: fixture.server, type: 3, code: 13)
        #expect(await fixture.ask("api.lab.test", at: far) == .unreachable(forbidden))
    }

    @Test("A neighbour that does not answer is reported with this host as the offender")
    func deadNeighbour() async throws {
        let fixture = try NameServerFixture()
        try fixture.here.sysctl("net.ipv4.neigh.v0.retrans_time_ms=50")
        let dead = try #require(IPAddress("10.9.0.99"))
        let refusal = ICMPError(offender: IPAddress(ipv4: 0x0A09_0001), type: 3, code: 1)
        #expect(await fixture.ask("api.lab.test", at: dead, within: .seconds(60)) == .unreachable(refusal))
    }

    @Test("A link-local server is reached through its link, and not without one")
    func linkLocal() async throws {
        let fixture = try NameServerFixture()
        try fixture.here.ip("addr add fe80::1/64 dev v0 nodad")
        try await fixture.serve()
        let octets = try #require(IPAddress("fe80::53")).octets
        let server = try #require(IPAddress(octets: octets, zone: try fixture.index(of: "v0")))
        #expect(await fixture.ask("four.lab.test", at: server).isAnswer)
        let nowhere = try #require(IPAddress(octets: octets))
        #expect(await fixture.ask("four.lab.test", at: nowhere, within: .seconds(60)) == .unreachable(nil))
    }

    @Test("A name's time to live is found from dnsmasq, its alias included")
    func timeToLive() async throws {
        let fixture = try NameServerFixture()
        try await fixture.serve()
        let addresses = [try #require(IPAddress("2001:db8::7")), IPAddress(ipv4: 0x0A09_0007)]
        let settings = ResolverSettings(parsing: "nameserver 10.9.0.2\nsearch lab.test\n")
        let ttlLookup = TTLLookup(client: fixture.client, time: SystemClock(), settings: { settings })
        let resolver = Resolver(time: SystemClock(), ttlLookup: ttlLookup) { name in
            .success(name == "hosts" ? [loopback] : addresses)
        }
        for (name, expected) in [("www", Duration.seconds(20)), ("api.lab.test", .seconds(30)), ("hosts", nil)] {
            await withCheckedContinuation { waiter in resolver.resolve(name) { _ in waiter.resume() } }
            let found = await withCheckedContinuation { waiter in
                resolver.timeToLive(of: name) { waiter.resume(returning: $0) }
            }
            #expect(found == expected, "\(name)")
        }
    }
}
