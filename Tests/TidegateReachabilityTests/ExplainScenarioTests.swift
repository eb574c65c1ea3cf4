internal import Testing
@testable internal import TidegateCore
@testable internal import TidegateReachability
internal import TidegateTestKit

/// Explanations of what a real kernel does, in namespaces.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct ExplainScenarioTests {
    @Test("A healthy path is explained rung by rung")
    func healthy() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        ladder.web.say { _ in HTTPCheck.Result(reached: .connect) }
        let explanation = try await ladder.explain("198.51.100.2:80")
        #expect(explanation.ladders.count == 1 && explanation.firstFailure == nil)
        #expect(explanation.report(.interface)?.evidence == ["v0: index 77, ethernet, admin up"])
        #expect(explanation.report(.address)?.text == "source 10.0.0.2 on v0")
        let route = try #require(explanation.report(.route)).evidence
        #expect(route.first == "198.51.100.2 via 10.0.0.1 dev v0 src 10.0.0.2")
        #expect(route.contains("matched default via 10.0.0.1 dev v0 table main"), "\(route)")
        #expect(route.contains("by rule 32766: from all lookup main"), "\(route)")
        #expect(explanation.report(.gateway)?.status == .ok)
        #expect(explanation.report(.dns)?.status == .notApplicable)
        #expect(ladder.web.questions.map(\.lastStage) == [.connect])
    }

    @Test(
        "A resolv.conf that is empty while a program rewrites it names its server; one that stays empty names none",
        arguments: [(1, false), (100, true)])
    func rewritten(emptyReadings: Int, isEmpty: Bool) async throws {
        let ladder = LadderFixture(try VethPairFixture(), emptyReadings: emptyReadings)
        let explanation = try await ladder.explain("www.example:80")
        #expect((explanation.cause == .thisHost(.noNameserver)) == isEmpty, "\(explanation.sentence)")
    }

    @Test("A dead default that hides a live one is the carrier's failure, with the hint why the kernel keeps it")
    func metrics() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.batch(
            """
            route del default
            route add default via 10.0.0.1 metric 100
            route add default via 10.0.1.1 metric 200
            """)
        try hosts.there.ip("link set p0 down")
        let ladder = LadderFixture(hosts)
        _ = await ladder.fixture.status { $0.verdict(.ipv4).level < .routed }
        let explanation = try await ladder.explain("198.51.100.2:80")
        #expect(explanation.firstFailure?.reason?.rung == .carrier && explanation.party == .mine)
        let route = try #require(explanation.report(.route))
        #expect(route.text.contains("it is live, but metric 200 is higher than 100"), "\(route)")
        #expect(route.text.contains("ignore_routes_with_linkdown=0"))
        #expect(explanation.advice.hasPrefix("Plug in the cable of v0"), "\(explanation.advice)")
        try hosts.here.sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        let passed = try await ladder.explain("198.51.100.2")
        #expect(passed.report(.route)?.status == .ok, "\(passed)")
        #expect(passed.report(.route)?.text.contains("passed over (ignore_routes_with_linkdown=1)") ?? false)
    }

    @Test("A route by a nexthop object is shown with its gateway")
    func nexthopObject() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            """
            route del default
            nexthop add id 10 via 10.0.0.1 dev v0
            route add default nhid 10
            """)
        let ladder = LadderFixture(hosts)
        let explanation = try await ladder.explain("198.51.100.2")
        #expect(explanation.firstFailure == nil)
        #expect(explanation.report(.route)?.text.contains("via 10.0.0.1 dev v0") ?? false)
        #expect(explanation.report(.route)?.text.contains("nhid 10") ?? false)
    }

    @Test("A replaced IPv6 default has exactly one gateway")
    func replaced() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("-6 route replace default via 2001:db8::ffff")
        let ladder = LadderFixture(hosts)
        let explanation = await ladder.diagnostics.diagnose(
            try ExplainTarget("2001:db8:2::2"), within: .milliseconds(200))
        let route = try #require(explanation.report(.route, .ipv6))
        #expect(route.text.contains("via 2001:db8::ffff") && !route.text.contains("not taken"), "\(route)")
        #expect(!route.text.contains("2001:db8::1 "))
    }

    @Test("A target on this host and one on the link need no gateway")
    func near() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        #expect(try await ladder.explain("10.0.0.2").report(.gateway)?.text == "the target is this host")
        #expect(try await ladder.explain("10.0.0.1").report(.gateway)?.status == .notApplicable)
    }

    @Test("Refusing routes and rules are named")
    func refusing() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            """
            route add prohibit 203.0.113.0/28
            rule add to 203.0.113.16/28 blackhole pref 50
            """)
        let ladder = LadderFixture(hosts)
        let prohibited = try await ladder.explain("203.0.113.1")
        #expect(prohibited.firstFailure?.reason == .prohibited && prohibited.party == .mine)
        let blackholed = try await ladder.explain("203.0.113.17")
        #expect(blackholed.firstFailure?.reason == .blackholed)
        #expect(blackholed.report(.route)?.text.contains("50: from all to 203.0.113.16/28 blackhole") ?? false)
    }

    @Test("Of several addresses one that answers is enough; the others are shown beside it")
    func severalAddresses() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("route add prohibit 203.0.113.9")
        let (barred, dead) = (try address("203.0.113.9"), try address("198.51.100.7"))
        let good = try address("198.51.100.2")
        let ladder = LadderFixture(hosts, names: ["api.test": [barred, dead, good]])
        ladder.web.say { question in
            guard question.address != good else { return HTTPCheck.Result(reached: .connect) }
            return HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused)
        }
        let explanation = try await ladder.explain("api.test:80", within: .seconds(3))
        #expect(explanation.firstFailure == nil && explanation.party == nil, "\(explanation)")
        let (tcp, route) = (explanation.report(.tcp), explanation.report(.route))
        #expect(tcp?.evidence.contains("its other address 198.51.100.7: the connection was refused") ?? false)
        #expect(route?.evidence.first?.hasPrefix("198.51.100.2 via 10.0.0.1 dev v0") ?? false, "\(explanation)")
        #expect(route?.evidence.contains("its other address 203.0.113.9: a route or rule prohibits it") ?? false)
        #expect(!ladder.web.questions.contains { $0.address == barred }, "no packet is sent without a route")
    }

    @Test("A gateway that answers is shown with its link-layer address, however new it is")
    func freshNeighbour() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        let gateway = try await ladder.explain("198.51.100.2").report(.gateway)
        #expect(gateway?.status == .ok)
        let neighbour = gateway?.evidence.first ?? ""
        #expect(neighbour.hasPrefix("neighbour 10.0.0.1 dev v0 lladdr "), "\(neighbour)")
    }

    @Test("Nothing competes with an address of this host")
    func thisHost() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        let route = try await ladder.explain("10.0.0.2").report(.route)
        #expect(route?.status == .ok && route?.evidence == ["10.0.0.2 is an address of this host"])
    }

    @Test("A strict rp_filter is named")
    func filter() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.sysctl("net.ipv4.conf.v0.rp_filter=1")
        let ladder = LadderFixture(hosts)
        #expect(
            try await ladder.explain("198.51.100.2").report(.route)?.text.contains("rp_filter is strict on v0") ?? false
        )
    }

    @Test("Without any address of a family its ladder ends at the address, and the other one counts")
    func oneFamily() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.sysctl("net.ipv6.conf.v0.disable_ipv6=1")
        let (four, six) = (try address("198.51.100.2"), try address("2001:db8:2::2"))
        let ladder = LadderFixture(hosts, names: ["api.test": [six, four]])
        _ = await ladder.fixture.status { $0.verdict(.ipv6).level < .routed && $0.verdict(.ipv4).level >= .routed }
        ladder.web.say { _ in HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused) }
        let explanation = try await ladder.explain("api.test:80", within: .seconds(2))
        #expect(explanation.ladders.map(\.firstFailure?.rung) == [.tcp, .address])
        #expect(explanation.firstFailure?.reason == .refused && explanation.party == .theirs)
    }
}
