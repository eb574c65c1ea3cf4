internal import Testing
@testable internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// What other traffic shows about a path, by the kernel's own routes.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct TrafficEvidenceScenarioTests {
    private static let silence = ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: nil, failure: .timedOut) }

    private static func report(_ remotes: [(text: String, answered: Duration, stalled: Int)]) throws
        -> ConnectionsReport
    {
        let reports = try remotes.map { remote in
            var report = RemoteReport(Remote(try address(remote.text), port: 443, .outgoing))
            (report.answered, report.established) = (remote.answered, 1)
            if remote.stalled > 0 { report.stalled[.unanswered] = remote.stalled }
            return report
        }
        var report = ConnectionsReport(mode: .event, remotes: reports)
        report.listed = .zero
        return report
    }

    private static func quiet() throws -> VethPairFixture {
        let hosts = try VethPairFixture()
        // The router forwards nothing and answers only who asks for its link-layer address.
        try hosts.there.run([
            "nft", "table inet quiet { chain in { type filter hook input priority 0; policy drop; }; }",
        ])
        return hosts
    }

    @Test("A target that is silent while others behind the same gateway answer other programs is not the provider's")
    func otherRemotes() async throws {
        let report = try Self.report([("198.51.100.9", .milliseconds(1), 0), ("198.51.100.10", .milliseconds(2), 0)])
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence, connections: report)
        let explanation = try await ladder.explain("198.51.100.2:443")
        let gateway = try #require(explanation.report(.gateway))
        #expect(gateway.status == .ok && gateway.text.contains("2 remotes behind it answer other programs"))
        #expect(explanation.firstFailure?.rung == .tcp)
        #expect(explanation.party == .path, "\(explanation)")
    }

    @Test("A target whose host answers other programs fails alone, and its connections are described")
    func sameHost() async throws {
        let report = try Self.report([("198.51.100.2", .milliseconds(1), 0)])
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence, connections: report)
        let explanation = try await ladder.explain("198.51.100.2:443")
        #expect(explanation.party == .theirs, "\(explanation)")
        let tcp = try #require(explanation.report(.tcp))
        #expect(
            tcp.text.contains("other programs have 1 connection to 198.51.100.2:443, which answered 1 ms ago"),
            "\(tcp.text)")
    }

    @Test("Remotes on the link itself say nothing of what is behind the gateway")
    func onLink() async throws {
        let report = try Self.report([("10.0.0.7", .milliseconds(1), 0)])
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence, connections: report)
        let explanation = try await ladder.explain("10.9.9.9:443")
        let gateway = try #require(explanation.report(.gateway))
        #expect(!gateway.text.contains("other programs"), "\(gateway.text)")
        #expect(![.theirs, .path].contains(explanation.party), "\(explanation)")
    }

    @Test("Connections that hang are described with the kernel's next try")
    func hanging() async throws {
        var report = try Self.report([("198.51.100.2", .seconds(4), 3)])
        report.remotes[0].nextTry = .milliseconds(1300)
        report.remotes[0].outcomes = [.refused: 7]
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence, connections: report)
        let text = try #require(try await ladder.explain("198.51.100.2:443").report(.tcp)).text
        #expect(
            text.contains(
                "3 connections of other programs to 198.51.100.2:443 hang, silent for 4 s; the kernel tries again in 1.3 s"
            ),
            "\(text)")
        #expect(text.contains("connections to 198.51.100.2:443 in the last 5 minutes: refused 7"), "\(text)")
    }

    @Test(
        "A target that answers, be it with a reset, proves that the way out works while the resolver is silent",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"),
        arguments: [
            (HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused), FaultParty.resolver),
            (HTTPCheck.Result(reached: .connect), .resolver),
            (HTTPCheck.Result(reached: nil, failure: .timedOut), .upstream),
        ])
    func target(_ answer: HTTPCheck.Result, _ party: FaultParty) async throws {
        let hosts = try VethPairFixture()
        try hosts.there.run([
            "nft", "table inet quiet { chain out { type filter hook output priority 0; icmp type 3 drop; }; }",
        ])
        let target = try Target("198.51.100.2:80")
        let ladder = LadderFixture(
            hosts, nameservers: ["10.9.0.53"], web: ScriptedHTTPChecker { _ in answer },
            targets: [target: TargetCheck(.tcp, interval: .seconds(3600))])
        #expect(await eventually { ladder.fixture.monitor.status.checks[target]?.isReached != nil })
        let explanation = await ladder.diagnostics.diagnose(.internet, families: [.ipv4], within: .seconds(5))
        #expect(explanation.party == party, "\(explanation)")
    }

    @Test("A request that succeeded before the target was silent proves nothing")
    func oldRequest() async throws {
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence)
        _ = await ladder.fixture.first()
        ladder.fixture.succeed(from: try address("10.0.0.2"), to: try address("10.9.0.7"))
        let explanation = try await ladder.explain("10.9.9.9:443")
        #expect(explanation.party != .path, "\(explanation)")
    }

    @Test("A request that succeeded on the link itself proves nothing of the gateway")
    func ownRequest() async throws {
        let ladder = LadderFixture(try Self.quiet(), web: Self.silence)
        _ = await ladder.fixture.first()
        for (remote, isProof) in [("10.0.0.7", false), ("10.9.0.7", true)] {
            let asked = ladder.web.questions.count
            async let answer = ladder.explain("10.9.9.9:443")
            try #require(await eventually { ladder.web.questions.count > asked })
            ladder.fixture.succeed(from: try address("10.0.0.2"), to: try address(remote))
            let explanation = try await answer
            let gateway = try #require(explanation.report(.gateway))
            #expect(gateway.text.contains("a request to \(remote) succeeded") == false || isProof, "\(gateway.text)")
            #expect((explanation.party == .path) == isProof, "\(explanation)")
        }
    }
}

extension MonitorFixture {
    /// An attempt of a task succeeded.
    fileprivate func succeed(from local: IPAddress, to remote: IPAddress) {
        let now = TestTime().monotonic()
        self.monitor.recorder.record(
            .success(.init(from: local, to: remote, isEncrypted: false, connect: nil, start: now, end: now)))
    }
}
