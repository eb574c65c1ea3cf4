internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// Names and resolvers on real kernels, with a real name server at the other end.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct LadderNameScenarioTests {
    /// Knows `*.good.test`, says that nothing else below `test` exists, and refuses everything else.
    private func serve(_ hosts: VethPairFixture) throws -> RunningCommand {
        try hosts.there.start([
            "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon", "--listen-address=10.0.0.1",
            "--bind-interfaces", "--local=/test/", "--address=/good.test/198.51.100.2", "--local-ttl=77",
            "--address=/a.root-servers.net/198.41.0.4", "--local=/root-servers.net/",
        ])
    }

    private func isServing(_ ladder: LadderFixture) async -> Bool {
        for _ in 0..<50 {
            if await ladder.diagnostics.dns(nil).status == .ok { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test("A resolver without a route is bad, and no packet is sent to find that out")
    func noRoute() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("route add unreachable 203.0.113.0/24")
        let ladder = LadderFixture(hosts, nameservers: ["203.0.113.53"])
        let report = await ladder.diagnostics.dns(nil)
        #expect(report.reason == .resolverNoRoute && report.text.contains("it was not queried"), "\(report)")
        let explanation = try await ladder.explain("api.test:443")
        #expect(explanation.firstFailure?.rung == .dns && explanation.firstFailure?.reason == .resolverNoRoute)
        #expect(explanation.party == .mine)
        #expect(explanation.report(.route)?.status == .ok, "there is a way out, only none to the resolver")
        #expect(explanation.report(.tcp)?.status == .unknown)
    }

    @Test("Without a default path, the route to the resolvers is what fails")
    func noWayOut() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("route del default")
        try hosts.here.ip("-6 route del default")
        let ladder = LadderFixture(hosts, nameservers: ["203.0.113.53"])
        let explanation = try await ladder.explain("api.test:443")
        #expect(explanation.report(.route)?.reason == .noRoute)
        #expect(explanation.report(.route)?.text.contains("resolver 203.0.113.53") ?? false)
        #expect(explanation.firstFailure?.rung == .route)
    }

    @Test("A resolver that answers after 1.2 s is slow, not dead, both alone and for a target")
    func slow() async throws {
        let hosts = try VethPairFixture()
        let server = try ScriptedNameServer(
            after: .milliseconds(1_200), at: try address("10.0.0.1"), in: hosts.there
        ) {
            [DNSMessageBytes(answers: [DNSMessageBytes.a(2)]).reply(to: $0)]
        }
        let ladder = LadderFixture(hosts, names: ["www.good.test": [try address("198.51.100.2")]])
        let alone = await ladder.diagnostics.dns(nil)
        #expect(alone.status == .ok && alone.text.contains("resolver 10.0.0.1: answers after "), "\(alone)")
        let explanation = try await ladder.explain("http://www.good.test/")
        #expect(explanation.firstFailure == nil && explanation.party == nil, "\(explanation)")
        #expect(explanation.findings.contains { $0.hasPrefix("the name server 10.0.0.1 answers after ") })
        #expect(explanation.report(.dns)?.values.duration.map { $0 >= .milliseconds(1_200) } ?? false)
        withExtendedLifetime(server) {}
    }

    @Test("A resolver that every second datagram is lost on the way to answers, about a target, too")
    func lossy() async throws {
        let hosts = try VethPairFixture()
        let server = try self.serve(hosts)
        let ladder = LadderFixture(hosts, names: ["www.good.test": [try address("198.51.100.2")]])
        #expect(await self.isServing(ladder))
        try hosts.there.run([
            "nft",
            "table inet loss { chain in { type filter hook input priority 0; udp dport 53 numgen inc mod 2 0 drop; }; }",
        ])
        #expect(await ladder.diagnostics.dns(nil).status == .ok)
        let explanation = try await ladder.explain("http://www.good.test/")
        #expect(explanation.firstFailure == nil && explanation.report(.dns)?.status == .ok, "\(explanation)")
        withExtendedLifetime(server) {}
    }

    @Test("A look-up that got no answer is not charged to a resolver that answers the diagnosis")
    func lostLookup() async throws {
        let hosts = try VethPairFixture()
        let server = try self.serve(hosts)
        let ladder = LadderFixture(hosts, names: ["www.good.test": [try address("198.51.100.2")]])
        #expect(await self.isServing(ladder))
        let checker = HTTPTargetChecker(web: ladder.web, diagnostics: ladder.diagnostics)
        let request = TargetCheck.Request(
            target: try Target("www.good.test:80"), check: TargetCheck(.tcp), addresses: [], unresolved: .timedOut,
            verdict: Verdict(level: .routed))
        let failure = await checker.check(request).failure
        #expect(failure?.reason == .resolverTimeout && failure?.party == .unknown, "\(failure.map { "\($0)" } ?? "")")
        withExtendedLifetime(server) {}
    }

    @Test("A forwarder that answers from what it has kept, and fails for a new name, is no sign of the internet")
    func keptNames() async throws {
        let hosts = try VethPairFixture()
        let server = try ScriptedNameServer(after: .zero, at: try address("10.0.0.1"), in: hosts.there) { question in
            let name = Array(question.dropFirst(12).prefix { $0 != 0 }) + [0]
            let isKept = DNSMessageBytes.name("a.root-servers.net") == name
            return [
                DNSMessageBytes(code: isKept ? 0 : 2, answers: isKept ? [.init(1, [198, 41, 0, 4])] : []).reply(
                    to: question)
            ]
        }
        let ladder = LadderFixture(hosts)
        _ = await ladder.fixture.first()
        let explanation = await ladder.diagnostics.diagnose(
            .internet, families: [.ipv4], within: .seconds(5), walksToInternet: false)
        #expect(explanation.cause == .unknown(.forwarder), "\(explanation)")
        let dns = try #require(explanation.report(.dns))
        #expect(dns.text.contains("resolver 10.0.0.1: SERVFAIL for a name that it has not kept"), "\(dns.text)")
        withExtendedLifetime(server) {}
    }

    @Test(
        "Beside a forwarder that answers, silent targets in two networks show that the way out is dead, one does not",
        arguments: [(["198.51.100.2:80", "203.0.113.2:80"], FaultParty.upstream), (["198.51.100.2:80"], nil)])
    func silentTargets(_ targets: [String], _ party: FaultParty?) async throws {
        let hosts = try VethPairFixture()
        let server = try self.serve(hosts)
        let web = ScriptedHTTPChecker()
        let checks = try targets.map { (try Target($0), TargetCheck(.tcp, interval: .seconds(3600))) }
        let ladder = LadderFixture(hosts, web: web, targets: Dictionary(checks) { first, _ in first })
        #expect(await self.isServing(ladder))
        #expect(await eventually { ladder.fixture.monitor.status.checks.values.allSatisfy { $0.isReached == true } })
        web.say { _ in HTTPCheck.Result(reached: nil, failure: .timedOut) }
        let explanation = await ladder.diagnostics.diagnose(
            .internet, families: [.ipv4], within: .seconds(5), walksToInternet: false)
        #expect(explanation.party == party, "\(explanation)")
        withExtendedLifetime(server) {}
    }

    @Test("A resolver whose port 53 is dropped times out")
    func dropped() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.run([
            "nft", "table inet quiet { chain in { type filter hook input priority 0; udp dport 53 drop; }; }",
        ])
        let ladder = LadderFixture(hosts)
        let explanation = try await ladder.explain("api.test:443", within: .seconds(3))
        #expect(
            explanation.report(.dns)?.reason == .resolverTimeout && explanation.party == .upstream,
            "the router that resolves names answers, and nothing beyond it does: \(explanation)")
        #expect(explanation.report(.gateway)?.status == .notApplicable, "the resolver is on the link itself")
    }

    @Test("A name that does not exist is the name's fault where the resolver knows others")
    func wrongName() async throws {
        let hosts = try VethPairFixture()
        let server = try self.serve(hosts)
        let ladder = LadderFixture(hosts)
        #expect(await self.isServing(ladder))
        let explanation = try await ladder.explain("nope.test:443")
        #expect(explanation.firstFailure?.reason == .nameNotFound && explanation.party == .mine, "\(explanation)")
        #expect(explanation.report(.dns)?.text.contains("NXDOMAIN") ?? false)
        #expect(explanation.report(.dns)?.text.contains("answers the control question (a.root-servers.net)") ?? false)
        #expect(explanation.report(.route)?.evidence.first?.hasPrefix("resolver 10.0.0.1") ?? false)
        withExtendedLifetime(server) {}
    }

    @Test("A name is denied only if no domain of the search list has it, however slow the resolver is")
    func searchList() async throws {
        let hosts = try VethPairFixture()
        let server = try ScriptedNameServer(
            after: .milliseconds(250), at: try address("10.0.0.1"), in: hosts.there
        ) { question in
            let name = Array(question.dropFirst(12).prefix { $0 != 0 }) + [0]
            let isKnown = ["www.e.test", "a.root-servers.net"].contains { DNSMessageBytes.name($0) == name }
            let records = isKnown && DNSMessageBytes.type(of: question) == 1 ? [DNSMessageBytes.a(2)] : []
            return [DNSMessageBytes(code: isKnown ? 0 : 3, answers: records).reply(to: question)]
        }
        let ladder = LadderFixture(hosts, search: ["a.test", "b.test", "c.test", "d.test", "e.test"])
        // The system asks one domain after the other, which takes longer than the diagnosis waits.
        ladder.fixture.resolver.fallSilent()
        let explanation = try await ladder.explain("http://www/")
        #expect(explanation.findings.first?.contains("ndots") == true, "four domains take a second: \(explanation)")
        #expect(explanation.conclusion == .worksBut && explanation.addresses.map(\.description) == ["192.0.2.2"])
        let denied = try await ladder.explain("http://wwww/")
        #expect(denied.cause?.code == "nameNotFound" && denied.party == .mine, "\(denied)")
        withExtendedLifetime(server) {}
    }

    @Test("A name that exists is shown with the resolver's answer and its time to live")
    func goodName() async throws {
        let hosts = try VethPairFixture()
        let server = try self.serve(hosts)
        let ladder = LadderFixture(hosts, names: ["www.good.test": [try address("198.51.100.2")]])
        #expect(await self.isServing(ladder))
        let explanation = try await ladder.explain("http://www.good.test/")
        #expect(explanation.addresses.map(\.description) == ["198.51.100.2"])
        #expect(explanation.firstFailure == nil)
        #expect(explanation.report(.dns)?.text.contains("resolver 10.0.0.1: A 198.51.100.2, TTL 77 s") ?? false)
        #expect(explanation.report(.dns, .ipv6)?.status == .notApplicable)
        #expect(explanation.report(.tcp, .ipv6)?.status == .unknown)
        withExtendedLifetime(server) {}
    }

    @Test("A stub of this host's at which nothing listens is this host's own resolver")
    func stub() async throws {
        let ladder = LadderFixture(try VethPairFixture(), nameservers: ["127.0.0.53"])
        let explanation = try await ladder.explain("api.test:443")
        #expect(explanation.firstFailure?.reason == .resolverFailed, "\(explanation)")
        #expect(explanation.report(.dns)?.text.contains("on this host itself (ECONNREFUSED)") ?? false)
        #expect(explanation.advice.contains("at 127.0.0.53"))
    }

    @Test(
        "One deadline holds for everything",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func deadline() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.run([
            "nft", "table netdev dark { chain in { type filter hook ingress device p0 priority 0; policy drop; }; }",
        ])
        let ladder = LadderFixture(hosts)
        let start = ContinuousClock.now
        let explanation = try await ladder.explain("api.test:443", within: .seconds(1))
        #expect(ContinuousClock.now - start < .seconds(8), "and not the nine that one by one would take")
        #expect(explanation.firstFailure != nil)
    }
}
