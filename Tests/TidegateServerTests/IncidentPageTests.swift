import Foundation
import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateIncidents
import TidegateTestKit

@testable import TidegateServer

/// Outages as the API, the page and a report show them.
@Suite struct IncidentPageTests {
    /// Incidents that a test sets.
    final class Record: IncidentRecord {
        let state = Mutex((incidents: [Incident](), spans: [Coverage.Span]()))
        let now: WallTime
        let isUnreadable = Mutex(false)

        init(_ incidents: [Incident], _ spans: [Coverage.Span] = [], now: WallTime) {
            self.now = now
            self.state.withLock { $0 = (incidents, spans) }
        }

        func answer(_ question: IncidentQuestion) async throws(TextError) -> IncidentAnswer {
            if self.isUnreadable.withLock({ $0 }) { throw TextError("the journal cannot be read") }
            var answer = IncidentAnswer(to: question, at: self.now)
            let (incidents, spans) = self.state.withLock { $0 }
            answer.spans = spans.filter { question.covers($0) }
            answer.firstWatched = spans.map(\.start).min()
            for incident in incidents.sorted(by: { $0.start > $1.start })
            where question.id.map(incident.id.hasPrefix) ?? true { answer.add(incident) }
            return answer
        }

        func write(_ note: Incident.Note, about id: String) async throws(TextError) -> Incident? { nil }
        func plan(_ text: String, from start: WallTime, to end: WallTime) async throws(TextError) -> Coverage.Span {
            Coverage.Span("p", .planned, from: start, to: end, text: text)
        }
        func removePlan(_ id: String) async throws(TextError) -> Bool { false }
        var openHostIncident: String? { self.state.withLock { $0.incidents.first { $0.end == nil }?.id } }
        var totals: IncidentTotals { EveryEvent.incidentTotals }
    }

    /// A fixture with an outage that is over, one of a target, and one that lasts; watched for ten days.
    static func fixture(evil: Bool = false) -> Fixture {
        var fixture = Fixture()
        let now = fixture.time.wall()
        fixture.incidents = Record(
            SampleIncidents.all(at: now, isEvil: evil),
            [Coverage.Span("s", .watched, from: now - .seconds(864_000), to: now)], now: now)
        return fixture
    }

    private func json(_ fixture: Fixture, _ path: String, status: Int = 200) async throws -> JSONValue {
        let response = try await fixture.respond("GET", path)
        #expect(response.status == status, "\(path): \(response.text)")
        return try JSONValue(parsing: response.body)
    }

    @Test("The list has the incidents of its time, newest first, their totals and the coverage of the way out")
    func list() async throws {
        let fixture = Self.fixture()
        let list = try await self.json(fixture, "/api/v1/incidents")
        #expect(list["incidents"]?.elements.compactMap { $0["id"]?.text } == ["b2", "b1", "a1"])
        #expect(list["totals"]?.elements.compactMap { $0["downSeconds"] } == [600, 3600, 1000])
        #expect(list["totals"]?.elements.compactMap { $0["provenSeconds"] } == [0, 0, 1000])
        #expect(list["coverage"]?["downSeconds"] == 4200 && list["coverage"]?["watchedSeconds"] == 864_000)
        let open = try await self.json(fixture, "/api/v1/incidents?open=true&party=gateway&scope=network")
        #expect(open["incidents"]?.elements.compactMap { $0["id"]?.text } == ["b2"])
        #expect(open["coverage"] == list["coverage"], "the party asked for does not change the availability")
        let target = try await self.json(fixture, "/api/v1/availability?target=api")
        #expect(target["coverage"]?["downSeconds"] == 1000)
    }

    @Test("A limit gives pages, and the totals are those of all")
    func pages() async throws {
        let fixture = Self.fixture()
        let first = try await self.json(fixture, "/api/v1/incidents?limit=2")
        #expect(first["next"] == "b1" && first["totals"]?.elements.count == 3)
        let second = try await self.json(fixture, "/api/v1/incidents?limit=2&after=b1")
        #expect(second["incidents"]?.elements.compactMap { $0["id"]?.text } == ["a1"] && second["next"] == .null)
    }

    /// A fixture whose incidents have 100 kB of evidence each, and end with one that began first.
    private static func large(_ count: Int) -> Fixture {
        var fixture = Self.fixture()
        let now = fixture.time.wall()
        let incidents = (0..<count).map { number in
            let finding = Incident.Finding(
                party: .upstream, cause: "silence", certainty: .probable,
                evidence: .string(String(repeating: "x", count: 100_000)))
            return Incident(id: "\(1000 + number)", .target, name: "api", finding, start: now - .seconds(number + 1))
        }
        let plan = Coverage.Span("p", .planned, from: now + .seconds(3600), to: now + .seconds(7200), text: "router")
        fixture.incidents = Record(incidents, [plan], now: now)
        return fixture
    }

    @Test(
        "An answer has at most a mebibyte of incidents and one more, whatever its limit, and `next` leads to the rest")
    func bounds() async throws {
        let fixture = Self.large(40)
        var (found, after, sizes) = ([String](), "", [Int]())
        repeat {
            let response = try await fixture.respond("GET", "/api/v1/incidents?evidence=true&limit=10000\(after)")
            let page = try JSONValue(parsing: response.body)
            found += page["incidents"]?.elements.compactMap { $0["id"]?.text } ?? []
            sizes.append(response.body.count)
            #expect(page["totals"]?.elements.first?["incidents"] == 40, "the totals are those of all")
            after = page["next"]?.text.map { "&after=\($0)" } ?? ""
        } while !after.isEmpty
        #expect(found == (0..<40).map { "\(1000 + $0)" })
        #expect(sizes.count == 4 && sizes.allSatisfy { $0 < (1 << 20) + 110_000 }, "\(sizes)")
    }

    @Test("A page after an incident that does not exist is refused, and not an empty end of the list")
    func afterNothing() async throws {
        let answer = try await self.json(Self.fixture(), "/api/v1/incidents?after=b9", status: 400)
        #expect(answer["error"] == "after: no incident of this time has this ID")
    }

    @Test("A command gets all incidents in pages, and the plans of the future with them")
    func control() async throws {
        let fixture = Self.large(40)
        let path = "/tmp/tidegate-records-\(UUID().uuidString.prefix(8))"
        let record = try #require(fixture.incidents)
        let server = ControlServer(
            path: path, control: FakeControl(), bus: fixture.bus, time: fixture.time,
            incidents: IncidentRoutes(record: record, view: fixture.view, time: fixture.time, targetNames: [:]))
        let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
        let running = Task { try await server.run { continuation.yield() } }
        _ = await listening.first { true }
        var question = IncidentQuestion()
        (question.since, question.wantsEvidence, question.limit) = (fixture.time.wall() - .seconds(3600), true, .max)
        let answer = try await ControlClient(socket: path).incidents(question, at: fixture.time.wall())
        #expect(answer.incidents.map(\.id) == (0..<40).map { "\(1000 + $0)" } && answer.next == nil)
        #expect(answer.incidents.allSatisfy { $0.finding.evidence.text?.count == 100_000 })
        #expect(answer.plans.map(\.text) == ["router"])
        let document = answer.json(from: fixture.time.wall() - .seconds(3600), to: fixture.time.wall())
        #expect(document["plans"]?.elements.count == 1 && document["totals"]?.elements.first?["incidents"] == 40)
        running.cancel()
        try await running.value
    }

    @Test("The API leaves out the addresses of this host's network, also in texts")
    func identifiers() async throws {
        let fixture = Self.fixture()
        for path in ["/api/v1/incidents", "/api/v1/incidents/a1", "/incidents/a1", "/"] {
            let text = try await fixture.respond("GET", path).text
            #expect(text.contains("(this host) hears nothing"), "\(path)")
            #expect(!text.contains("10.0.0.2 hears") && !text.contains("10.0.0.2 asked"), "\(path)")
        }
        let incident = try await self.json(fixture, "/api/v1/incidents/a1")["incident"]
        #expect(incident?["network"]?["gateway"] == .null)
    }

    @Test(
        "A wrong value is one sentence that names it",
        arguments: [
            ("since=yesterday", "since: \"yesterday\" is not a time of RFC 3339"),
            ("since=2026-01-02&until=2026-01-01", "since 2026-01-02T00:00:00.000Z is not before until"),
            ("party=isp", "party: \"isp\" is not one of mine"),
            ("scope=world", "scope: \"world\" is not one of network"),
            ("limit=0", "limit: \"0\" is not a number from 1 to 10000"),
        ])
    func mistakes(query: String, sentence: String) async throws {
        let answer = try await self.json(Self.fixture(), "/api/v1/incidents?\(query)", status: 400)
        #expect(answer.description.contains(sentence.replacing("\"", with: "\\\"")), "\(answer)")
    }

    @Test("A journal that cannot be read is the server's failure, and not the request's")
    func unreadable() async throws {
        let fixture = Self.fixture()
        try #require(fixture.incidents as? Record).isUnreadable.withLock { $0 = true }
        for path in ["/api/v1/incidents", "/api/v1/availability", "/api/v1/incidents/a1"] {
            #expect(try await self.json(fixture, path, status: 500)["error"] == "the journal cannot be read")
        }
    }

    @Test("An unknown incident is not found, as JSON and as a page")
    func unknown() async throws {
        for path in ["/api/v1/incidents/nothing", "/incidents/nothing", "/incidents/a"] {
            #expect(try await Self.fixture().respond("GET", path).status == 404)
        }
    }

    @Test("The guard says 503 with party, cause and incident while this host's side is broken")
    func guarded() async throws {
        let fixture = Self.fixture()
        fixture.view.change { $0.status.global = EveryEvent.unplugged }
        let answer = try await self.json(fixture, "/api/v1/guard", status: 503)
        #expect(answer["clear"] == .bool(false) && answer["party"] == "mine" && answer["incident"] == "b2")
        fixture.view.change { $0.status.global = EveryEvent.routed }
        #expect(try await self.json(fixture, "/api/v1/guard")["clear"] == .null)
        #expect(try await fixture.respond("GET", "/api/v1/guard?target=:::").status == 400)
    }

    /// The knowledge of the host when a guard is asked.
    struct Situation: CustomTestStringConvertible {
        var testDescription: String
        /// Whether each target, behind a router, is reached, and the party and reason of its failure.
        var targets: [(isReached: Bool?, party: FaultParty, reason: UnreachableReason)]
        /// The rungs that hold in the diagnosis of the way out; nil without one.
        var holding: [Rung]?
        var level = ReachabilityLevel.routed
        /// Whether the answer is about the first target.
        var isAboutTarget = false
        /// Whether the targets are on this host's own link.
        var isOnLink = false
        /// Why nothing works, according to the diagnosis; nil if it finds no fault.
        var outage: Cause?
        var clear: JSONValue
    }

    static let situations = [
        Situation(testDescription: "no target, the internet answers", targets: [], holding: [.internet], clear: true),
        Situation(
            testDescription: "no target is reached, and only a resolver answers",
            targets: [(false, .upstream, .timeout), (false, .theirs, .timeout)], holding: [.dns], clear: .null),
        Situation(
            testDescription: "the only target is silent, and only a resolver answers",
            targets: [(false, .theirs, .timeout)], holding: [.dns], isAboutTarget: true, clear: .null),
        Situation(
            testDescription: "no target on the own link is reached, and only a resolver answers",
            targets: [(false, .theirs, .timeout)], holding: [.dns], isOnLink: true, clear: .null),
        Situation(
            testDescription: "the only target refuses on the own link, and only a resolver answers",
            targets: [(false, .theirs, .refused)], holding: [.dns], isOnLink: true, clear: .null),
        Situation(
            testDescription: "no target is reached, and a host beyond the gateway answers",
            targets: [(false, .theirs, .timeout), (false, .path, .timeout)], holding: [.internet], clear: true),
        Situation(
            testDescription: "no target is reached, and the internet check answers",
            targets: [(false, .theirs, .timeout)], holding: [.dns], level: .online, clear: true),
        Situation(
            testDescription: "one of two targets is reached",
            targets: [(true, .theirs, .timeout), (false, .theirs, .timeout)],
            holding: [.dns], clear: true),
        Situation(
            testDescription: "the only target refuses", targets: [(false, .theirs, .refused)], holding: [.dns],
            isAboutTarget: true, clear: true),
        Situation(
            testDescription: "a target fails at the provider", targets: [(false, .upstream, .timeout)], holding: [.dns],
            isAboutTarget: true, clear: false),
        Situation(
            testDescription: "all ways end behind one router beyond the provider", targets: [], holding: [],
            outage: .onTheWay(.ends(after: IPAddress(ipv4: 0xC000_0201))), clear: true),
        Situation(
            testDescription: "nothing answers beyond the router", targets: [], holding: [],
            outage: .provider(.nothingBeyond(gateway: nil)), clear: false),
        Situation(
            testDescription: "nothing is checked yet", targets: [(nil, .unknown, .timeout)], holding: nil, clear: .null),
        Situation(
            testDescription: "the kernel has not been read", targets: [], holding: nil, level: .unknown, clear: .null),
    ]

    @Test("The guard is clear only if something beyond the gateway is known to answer", arguments: situations)
    func decision(_ situation: Situation) async throws {
        let fixture = Self.fixture()
        var (status, targets) = (EveryEvent.status, [Target]())
        status.global =
            situation.level == .unknown ? .unknown : Verdict(level: situation.level, path: EveryEvent.routed.path)
        var verdict = EveryEvent.routed
        if situation.isOnLink { verdict.path?.gateway = nil }
        (status.targets, status.checks) = ([], [:])
        for (number, state) in situation.targets.enumerated() {
            let target = try Target("203.0.113.\(number + 1):443")
            var report = TargetCheckReport(TargetCheck(.tcp))
            report.isReached = state.isReached
            report.lastFailure = .init(
                time: fixture.time.wall(), reason: state.reason, party: state.party, text: "it does not answer")
            status.targets.append(TargetVerdict(target: target, verdict: verdict))
            status.checks[target] = report
            targets.append(target)
        }
        let diagnosis = situation.holding.map { rungs in
            let ladder = Explanation.Ladder(family: .ipv4, rungs: rungs.map { RungReport(rung: $0, status: .ok) })
            var explanation = Explanation(
                target: "the internet", addresses: [], ladders: [ladder],
                conclusion: situation.outage == nil ? .works : .broken)
            (explanation.cause, explanation.party) = (situation.outage, situation.outage?.party)
            return HostDiagnosis(explanation: explanation, time: fixture.time.wall())
        }
        fixture.view.change { [status] in ($0.status, $0.diagnosis) = (status, diagnosis) }
        let query = situation.isAboutTarget ? "?target=\(targets[0])" : ""
        let answer = try await self.json(
            fixture, "/api/v1/guard\(query)", status: situation.clear == .bool(false) ? 503 : 200)
        #expect(answer["clear"] == situation.clear, "\(answer)")
        #expect(
            (answer["cause"] == .null) == (situation.clear == .bool(true)), "an answer that is not clear has a cause")
    }

    @Test("The page has the open incident first, with a link to its own page")
    func page() async throws {
        let html = try await Self.fixture().respond("GET", "/").text
        let places = ["/incidents/b2", "/incidents/b1", "/incidents/a1"].map { html.range(of: $0)?.lowerBound }
        let found = places.compactMap(\.self)
        #expect(found.count == 3 && found == found.sorted())
        #expect(html.contains("10 min, ongoing") && html.contains("available 99.51"))
        let filtered = try await Self.fixture().respond("GET", "/?party=theirs").text
        #expect(filtered.contains("/incidents/b1") && !filtered.contains("/incidents/b2"))
    }

    @Test("Nothing of a name, a cause, a note or a network becomes markup or a script")
    func injection() async throws {
        let fixture = Self.fixture(evil: true)
        let pages = try await [
            fixture.respond("GET", "/incidents/a1").text, fixture.respond("GET", "/").text,
        ]
        for html in pages {
            #expect(html.contains("&lt;script&gt;alert(1)"), "it is shown")
            #expect(!html.contains("<script>alert"))
        }
    }

    @Test("The page of an incident has one style sheet, which its policy allows by its hash")
    func policy() async throws {
        let response = try await Self.fixture().respond("GET", "/incidents/a1")
        let style = try #require(
            response.text.components(separatedBy: "<style>").last?.components(separatedBy: "</style>").first)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try style.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let digest = try await Program.expect(
            ["sh", "-c", "openssl dgst -sha256 -binary \(file.path) | openssl base64 -A"])
        #expect(response.headers[.contentSecurityPolicy]?.contains("style-src 'sha256-\(digest)'") == true, "\(digest)")
        #expect(!response.text.contains(" style=") && !response.text.contains("<script"))
    }
}
