import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

/// The router is the resolver, and what is behind it fails: one outage, the provider's, however the router answers names.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
struct ForwarderOutageTests {
    /// How the router answers names during the outage.
    enum Answer: String, Sendable, CaseIterable { case servfail, refused, silence, nameNotFound }

    /// The fault behind the router, so that no name server answers it.
    struct Outage: Sendable {
        let name: String
        let outages: [SituationLab.Outage]
    }

    private static let outages = [
        Outage(name: "the provider's edge is dead", outages: [.dead(.provider)]),
        Outage(name: "the provider's core is dead", outages: [.dead(.core)]),
        Outage(
            name: "the router's line is down",
            outages: [
                SituationLab.Outage(
                    begin: { try $0.namespace(.router).ip("link set wan down") },
                    end: { try $0.namespace(.router).batch("link set wan up\n" + Self.routes) })
            ]),
        Outage(
            name: "the router has lost its route",
            outages: [
                SituationLab.Outage(
                    begin: {
                        try $0.namespace(.router).ip("-4 route del default")
                        try $0.namespace(.router).ip("-6 route del default")
                    },
                    end: { try $0.namespace(.router).batch(Self.routes) })
            ]),
    ]

    private static let routes = "route replace default via 100.64.0.1\nroute replace default via 2001:db8:100::1"

    private static let configuration = """
        reachability:
          targets:
            - {name: page, url: "\(Situations.page)"}
            - {name: web, host: 203.0.113.10, port: 80}
            - {name: api, host: 203.0.113.30, port: 80}
        """

    /// The answers of the sidecar at one moment.
    private struct View {
        var headline: String
        var isDecided: Bool
        var party: String?
        /// When the last diagnosis ended, and since when something fails.
        var (time, since): (Date?, Date?)
        /// The parties of the targets that are not reached.
        var targets: [String: String]
        var incidents: [IncidentTests.List.Incident]

        var isComplete: Bool { self.isDecided && self.party != nil && self.targets.count == 3 }
    }

    // Eight labs at the same time: most of it is waiting.
    @Test(
        "Page, API, targets and incidents say once that it is the provider, and never anything else",
        arguments: [[Answer.servfail, .refused], [.silence, .nameNotFound]])
    func rows(_ answers: [Answer]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for answer in answers {
                for outage in Self.outages { group.addTask { try await self.row(answer, outage) } }
            }
            try await group.waitForAll()
        }
    }

    private func row(_ answer: Answer, _ outage: Outage) async throws {
        let lab = try await SituationLab()
        let forwarder = try Forwarder(on: lab)
        let row: Comment = "\(answer), \(outage.name)"
        try await lab.during([.resolvers("10.77.0.1")]) { lab in
            try await lab.withSidecar(Self.configuration) { sidecar in
                #expect(try await eventually { try await self.isSound(sidecar) }, row)
                var views: [View] = []
                forwarder.set(answer)
                try await lab.during(outage.outages, keepingNeighbours: true) { lab in
                    views = try await self.follow(sidecar, until: answer == .servfail ? 60 : 25)
                    for subject in [nil, Situations.page] {
                        #expect(try await lab.explain(subject).party == "upstream", row)
                    }
                }
                self.expectProvider(views, row)
                forwarder.set(nil)
                #expect(try await eventually { try await self.isSound(sidecar) }, row)
                let incidents = try await self.view(of: sidecar).incidents
                #expect(incidents.count == 1 && incidents.first?.endReason == "recovered", "\(row): \(incidents)")
            }
        }
        withExtendedLifetime(forwarder) {}
    }

    /// Every view from the start of an outage until so many seconds after its first silence.
    private func follow(_ sidecar: Sidecar, until second: Double) async throws -> [View] {
        var views: [View] = []
        let isOver = try await eventually(within: .seconds(180)) {
            let view = try await self.view(of: sidecar)
            views.append(view)
            try await Task.sleep(for: .milliseconds(500))
            guard view.isComplete, let time = view.time, let since = view.since else { return false }
            return time >= since.addingTimeInterval(second)
        }
        #expect(isOver, "\(views.last.map { "\($0)" } ?? ""): \(sidecar.log)")
        return views
    }

    private func expectProvider(_ views: [View], _ row: Comment) {
        let shown = views.map { "\($0.headline) | \($0.targets) | \($0.incidents.map(\.party))" }
        let distinct: [String] = shown.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        let seen: Comment = "\(row): \(distinct)"
        #expect(Set(views.filter(\.isDecided).compactMap(\.party)) == ["upstream"], seen)
        #expect(Set(views.flatMap(\.targets.values)) == ["upstream"], seen)
        #expect(Set(views.flatMap(\.incidents).map(\.party)) == ["upstream"], seen)
        #expect(Set(views.flatMap(\.incidents).map(\.id)).count == 1, seen)
        let decided = views.drop { !$0.isDecided || $0.party == nil }
        #expect(decided.allSatisfy { $0.isDecided && $0.headline.hasPrefix("Your provider") }, seen)
        #expect(Set(decided.map(\.since)).count == 1, "since does not move: \(seen)")
        let last = views.last?.incidents.first
        #expect(last?.scope == "network" && last?.affected.targets.sorted() == ["api", "page", "web"], seen)
    }

    private func isSound(_ sidecar: Sidecar) async throws -> Bool {
        let view = try await self.view(of: sidecar)
        let reached = try await sidecar.metrics().sum("tidegate_target_reachable")
        return view.targets.isEmpty && view.isDecided && view.party == nil && reached == 3
            && view.incidents.allSatisfy { $0.end != nil }
    }

    private func view(of sidecar: Sidecar) async throws -> View {
        struct Status: Decodable {
            struct Diagnosis: Decodable { var state, time: String; var party, since: String? }
            var diagnosis: Diagnosis?
            var shown: [String?] { [self.diagnosis?.state, self.diagnosis?.party] }
        }
        struct Targets: Decodable { var targets: [Sidecar.Target] }
        let paths = ["/api/v1/status", "/", "/api/v1/targets", "/api/v1/incidents", "/api/v1/status"]
        let decoder = JSONDecoder()
        var (texts, status) = ([String](), [Status]())
        // The answers are of one moment if the diagnosis did not change between the first and the last.
        repeat {
            texts = try await sidecar.get(paths)
            status = try [texts[0], texts[4]].map { try decoder.decode(Status.self, from: Data($0.utf8)) }
        } while status[0].shown != status[1].shown
        let diagnosis = status[0].diagnosis
        let targets = try decoder.decode(Targets.self, from: Data(texts[2].utf8)).targets
        let failing = targets.filter { $0.reached == false }.map { ($0.name, $0.lastFailure?.party ?? "") }
        return View(
            headline: SidecarPage(texts[1]).headline, isDecided: diagnosis?.state == "decided",
            party: diagnosis?.party, time: try diagnosis.map { try .init($0.time, strategy: .iso8601WithFraction) },
            since: try diagnosis?.since.map { try .init($0, strategy: .iso8601WithFraction) },
            targets: Dictionary(uniqueKeysWithValues: failing),
            incidents: try decoder.decode(IncidentTests.List.self, from: Data(texts[3].utf8)).incidents)
    }
}

/// The name server of the lab's router, which asks others where the lab works.
private final class Forwarder: Sendable {
    private final class State: Sendable { let answer = Mutex<ForwarderOutageTests.Answer?>(nil) }

    private let state = State()
    private let server: ScriptedNameServer

    init(on lab: SituationLab) throws {
        self.server = try ScriptedNameServer(
            after: .zero, at: IPAddress(ipv4: 0x0A4D_0001), in: lab.namespace(.router)
        ) { [state] question in
            switch state.answer.withLock({ $0 }) {
            case .servfail?: [DNSMessageBytes(code: 2).reply(to: question)]
            case .refused?: [DNSMessageBytes(code: 5).reply(to: question)]
            case .nameNotFound?: [DNSMessageBytes(code: 3).reply(to: question)]
            case .silence?: []
            case nil: [Self.records(for: question).reply(to: question)]
            }
        }
    }

    /// How it answers while it cannot ask others; nil while it can.
    func set(_ answer: ForwarderOutageTests.Answer?) { self.state.answer.withLock { $0 = answer } }

    private static func records(for question: [UInt8]) -> DNSMessageBytes {
        switch (DNSMessageBytes.firstLabel(of: question), DNSMessageBytes.type(of: question)) {
        case ("www", 1): DNSMessageBytes(answers: [.init(1, [203, 0, 113, 10])])
        case ("www", 28):
            DNSMessageBytes(
                answers: [.init(28, [0x20, 0x01, 0x0D, 0xB8, 0x01, 0x13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10])])
        // a.root-servers.net
        case ("a", 1): DNSMessageBytes(answers: [.init(1, [198, 41, 0, 4])])
        case ("www", _), ("a", _): DNSMessageBytes()
        default: DNSMessageBytes(code: 3)
        }
    }
}
