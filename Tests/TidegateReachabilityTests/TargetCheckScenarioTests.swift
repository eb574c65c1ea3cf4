internal import Synchronization
internal import Testing
@testable internal import TidegateCore
internal import TidegateNetwork
@testable internal import TidegateReachability
internal import TidegateTestKit

/// When and how targets are checked, on a real kernel with scripted servers.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct TargetCheckScenarioTests {
    private let hosts: VethPairFixture
    private let web = ScriptedHTTPChecker()

    init() throws { self.hosts = try VethPairFixture() }

    private func fixture(
        _ target: String, _ check: TargetCheck, names: [String: [IPAddress]] = [:]
    ) throws -> MonitorFixture {
        var configuration = ReachabilityConfiguration(targets: [try Target(target)])
        configuration.targetChecks = [try Target(target): check]
        return MonitorFixture(
            self.hosts.here, configuration, names: names, targetChecker: HTTPTargetChecker(web: self.web))
    }

    private func report(_ fixture: MonitorFixture) -> TargetCheckReport? { fixture.monitor.status.checks.values.first }

    private func wait(_ fixture: MonitorFixture) -> Duration? {
        self.report(fixture)?.nextCheck.map { .microseconds($0.microseconds - TestTime().wall().microseconds) }
    }

    @Test("A change of path halves the wait for the next check")
    func pathChange() async throws {
        try self.hosts.there.ip("addr add 10.0.0.9/24 dev p0")
        let fixture = try self.fixture("198.51.100.2:443", TargetCheck(.tcp, interval: .seconds(3600)))
        #expect(await eventually { self.report(fixture)?.isReached == true })
        #expect(try #require(self.wait(fixture)) > .seconds(3500))
        try self.hosts.here.ip("route replace default via 10.0.0.9")
        #expect(await eventually { self.wait(fixture).map { $0 < .seconds(2000) } ?? false })
        #expect(try #require(self.wait(fixture)) > .seconds(1700))
        #expect(self.report(fixture)?.isReached == true, "what was found last stays known until then")
    }

    @Test("An address that does not answer is followed by the others at once")
    func addresses() async throws {
        self.web.say { question in
            question.address.family == .ipv6
                ? HTTPCheck.Result(reached: nil, failure: .timedOut) : HTTPCheck.Result(reached: .connect)
        }
        let fixture = try self.fixture(
            "db.test:5432", TargetCheck(.tcp, interval: .seconds(3600)),
            names: ["db.test": [try address("2001:db8:9::1"), try address("198.51.100.2")]])
        #expect(await eventually { self.report(fixture)?.isReached == true })
        #expect(self.web.questions.map(\.address.description) == ["2001:db8:9::1", "198.51.100.2"])
    }

    @Test("A check without a descriptor says nothing of its target, and is repeated until it has one")
    func descriptors() async throws {
        self.web.say { [web] _ in
            guard web.questions.count <= 2 else { return HTTPCheck.Result(reached: .connect) }
            var answer = HTTPCheck.Result(reached: nil, failure: .connectFailed)
            answer.socketError = .noResources
            return answer
        }
        let fixture = try self.fixture("198.51.100.2:443", TargetCheck(.tcp, interval: .seconds(3600)))
        #expect(await eventually { self.report(fixture)?.isReached == true })
        #expect(self.web.questions.count == 3 && self.report(fixture)?.lastFailure == nil)
    }

    @Test("A name without an address is not reached, and says why; no packet is needed to know")
    func noName() async throws {
        let fixture = try self.fixture("absent.test:443", TargetCheck(.tcp, interval: .seconds(3600)))
        #expect(await eventually { self.report(fixture)?.isReached == false })
        #expect(self.report(fixture)?.lastFailure?.reason == .nameNotFound)
        #expect(self.web.questions.isEmpty)
    }

    @Test("A check by HTTP requests its URL; a status of 400 and above is a failure, whose party follows from it")
    func http() async throws {
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 503) }
        let fixture = try self.fixture(
            "198.51.100.2:80", try TargetCheck(url: "http://198.51.100.2/health", interval: .seconds(1)))
        #expect(await eventually { self.report(fixture)?.isReached == false })
        #expect(self.report(fixture)?.lastFailure?.reason == .httpError)
        #expect(self.report(fixture)?.lastFailure?.party == .theirs)
        #expect(self.report(fixture)?.lastFailure?.text == "the server answered 503")
        #expect(self.web.questions.first?.url.description == "http://198.51.100.2/health")
        self.web.say { _ in HTTPCheck.Result(reached: .response, status: 302) }
        #expect(
            await fixture.status { $0.targets.first?.verdict.level == .online }.targets.first?.verdict.level == .online)
    }

    @Test("A check by TLS makes the handshake, and the end of the certificate is known")
    func tls() async throws {
        self.web.say { _ in
            HTTPCheck.Result(
                reached: .tls,
                certificate: CertificateSummary(
                    subject: "CN=a", issuer: "CN=b", notAfter: "Mar  1 12:00:00 2027 GMT"))
        }
        let fixture = try self.fixture("198.51.100.2:8443", TargetCheck(.tls, interval: .seconds(3600)))
        #expect(await eventually { self.report(fixture)?.isReached == true })
        #expect(self.web.questions.first?.lastStage == .tls)
        #expect(self.report(fixture)?.certificateExpiry?.description == "2027-03-01T12:00:00.000Z")
    }

    @Test("Silence right after the start is repeated before it counts")
    func settle() async throws {
        self.web.say { _ in HTTPCheck.Result(reached: nil, failure: .timedOut) }
        let fixture = try self.fixture("198.51.100.2:443", TargetCheck(.tcp, interval: .seconds(3600)))
        #expect(await eventually { self.web.questions.count == 1 })
        #expect(self.report(fixture)?.isReached == nil)
        #expect(await eventually { self.report(fixture)?.isReached == false })
        #expect(self.web.questions.count == 2)
        #expect(self.report(fixture)?.lastFailure?.reason == .timeout)
    }

    @Test(
        "Silence right after the start counts if it is the way out's, which is known to fail",
        arguments: [(FaultParty.gateway, 2), (.theirs, 3)])
    func failingWayOut(_ party: FaultParty, _ checks: Int) async throws {
        let target = try Target("198.51.100.2:443")
        let checker = SilencedChecker(party)
        let ladder = LadderFixture(
            self.hosts, targets: [target: TargetCheck(.tcp, interval: .seconds(3600))], targetChecker: checker,
            diagnosesHost: true)
        let fixture = ladder.fixture
        #expect(await eventually { self.report(fixture)?.isReached == true })
        // The answer to a question of the reducer, before the worker has one.
        #expect(
            await eventually {
                fixture.monitor.send { $0.answer(HostHealthTests.outage) }
                return fixture.monitor.status.global.level == .limited
            })
        #expect(self.report(fixture)?.checkingSince != nil || checker.count.load(ordering: .relaxed) > 1)
        #expect(await eventually { self.report(fixture)?.isReached == false })
        #expect(checker.count.load(ordering: .relaxed) == checks)
    }

    @Test("Where a portal answers, a request without TLS reaches no target; a handshake still does")
    func portal() async throws {
        let (plain, proven) = (try Target("198.51.100.2:80"), try Target("198.51.100.2:443"))
        let checker = AnsweringChecker()
        let ladder = LadderFixture(
            self.hosts,
            targets: [
                plain: TargetCheck(.http, interval: .seconds(3600)),
                proven: TargetCheck(.tls, interval: .seconds(3600)),
            ], targetChecker: checker, diagnosesHost: true)
        let fixture = ladder.fixture
        let reports = { fixture.monitor.status.checks }
        #expect(await eventually { reports().values.filter { $0.isReached == true }.count == 2 })
        let portal = HostHealthTests.findings(
            StandingDiagnosisTests.broken(.provider(.portal(location: "http://login.test/"))))
        #expect(
            await eventually {
                // An answer to a question from before the path was known is dropped.
                fixture.monitor.send { $0.answer(portal) }
                return reports()[plain]?.isReached == false
            })
        let failure = try #require(reports()[plain]?.lastFailure)
        #expect(failure.reason == .portal && failure.party == .upstream)
        #expect(failure.text.contains("http://login.test/") && !failure.advice.isEmpty)
        #expect(await eventually { checker.count.load(ordering: .relaxed) > 3 })
        #expect(reports()[proven]?.isReached == true && reports()[proven]?.lastFailure == nil)
    }

    @Test("A router that reported the host's absence to the check counts, though it is silent to the diagnosis")
    func absence() async throws {
        let ladder = LadderFixture(self.hosts, web: self.web)
        let router = try address("192.0.2.1")
        self.web.say { _ in
            // A router looks for the host for three seconds before it reports again.
            guard self.web.questions.count == 1 else { return HTTPCheck.Result(reached: nil, failure: .timedOut) }
            let refusal = ICMPError(offender: router, type: 3, code: 1)
            return HTTPCheck.Result(
                reached: nil, failure: .connectFailed, socketError: .hostUnreachable, refusal: refusal)
        }
        let checker = HTTPTargetChecker(web: self.web, diagnostics: ladder.diagnostics)
        let target = try Target("203.0.113.11:80")
        let request = TargetCheck.Request(
            target: target, check: TargetCheck(.tcp), addresses: [try #require(target.address)],
            verdict: Verdict(level: .routed))
        let failure = try #require(await checker.check(request).failure)
        #expect(failure.reason == .hostUnreachable && failure.party == .theirs, "\(failure)")
        #expect(failure.advice == "Check that 203.0.113.11 is switched on and attached to its network.")
    }

    @Test("Values outside their range are refused by name")
    func validation() throws {
        let (host, port) = (try Target("a.test"), try Target("a.test:1"))
        func problem(_ target: Target, _ check: TargetCheck) -> String? {
            var configuration = ReachabilityConfiguration(targets: [target])
            configuration.targetChecks = [target: check]
            do throws(ConfigurationValueError) {
                try configuration.validate()
                return nil
            } catch {
                return error.description
            }
        }
        #expect(problem(port, TargetCheck(.tcp)) == nil)
        #expect(problem(host, TargetCheck(.tcp))?.hasSuffix("a check by tcp needs a target with a port") ?? false)
        #expect(problem(port, TargetCheck(.tcp, interval: .milliseconds(1)))?.contains("interval") ?? false)
        #expect(problem(port, TargetCheck(.tcp, timeout: .zero))?.contains("timeout") ?? false)
        #expect(throws: ConfigurationValueError.self) { try TargetCheck(url: "ftp://a.test/") }
    }
}

extension ReachabilityEngine {
    /// Asks for a diagnosis and answers in the worker's place, whichever round it is.
    fileprivate func answer(_ findings: HostFindings) {
        self.wayOut.diagnose { _ in }
        for round in 1...9 { self.wayOut.handle(.diagnosed(round: round, findings)) }
    }
}

/// Reaches every target, with a certificate where TLS is checked.
private final class AnsweringChecker: TargetChecker {
    let count = Atomic<Int>(0)

    func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome {
        self.count.add(1, ordering: .relaxed)
        return TargetCheck.Outcome(
            certificateExpiry: request.check.kind == .tls ? WallTime(microseconds: 1_800_000_000_000_000) : nil)
    }
}

/// Reaches the target once; afterwards there is silence, for which a party is responsible.
private final class SilencedChecker: TargetChecker {
    let count = Atomic<Int>(0)
    private let party: FaultParty

    init(_ party: FaultParty) { self.party = party }

    func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome {
        let isFirst = self.count.wrappingAdd(1, ordering: .relaxed).oldValue == 0
        return TargetCheck.Outcome(
            failure: isFirst ? nil : .init(reason: .timeout, party: self.party, text: "no answer"))
    }
}
