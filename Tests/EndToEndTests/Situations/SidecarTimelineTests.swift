import Foundation
import Testing
import TidegateTestKit

/// What a sidecar says of an outage, from its first silence to its end: the same everywhere, and right within ten seconds.
///
/// Each with the default configuration and one target, or one other program that sends each second.
@Suite(.timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
struct SidecarTimelineTests {
    /// What is asked of the network while the sidecar watches.
    enum Traffic: String, CaseIterable, Sendable {
        /// A configured target, checked every 15 s.
        case target
        /// A program that opens a connection each second.
        case program
    }

    /// An outage, and what is right about it.
    struct Outage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The responsible party of what fails; nil if the way out works and only the target fails.
        let party: String?
        /// The level that is published once it is decided.
        let level: String
        /// What the sentence, or the advice, names.
        let says: [String]
        let outages: [SituationLab.Outage]
        /// Whose failure the target's is.
        var targetParty: String?
        /// Whether `explain`, which also asks in another network, says the same.
        var isAsExplained = true

        init(
            _ name: String, _ party: String?, _ level: String, _ says: [String], _ outages: SituationLab.Outage...
        ) {
            (self.testDescription, self.party, self.level) = (name, party, level)
            (self.says, self.outages, self.targetParty) = (says, outages, party)
        }

        func with(_ change: (inout Outage) -> Void) -> Outage {
            var copy = self
            change(&copy)
            return copy
        }
    }

    /// Outages of the way out, as every traffic shows them.
    static let ways: [Outage] = [
        Outage("the router is dead", "gateway", "limited", ["10.77.0.1"], .dark(.router, "lan")),
        Outage("the router forwards nothing", "upstream", "limited", ["10.77.0.1"], .forwardsNothing(.router)),
        Outage("the provider's edge is dead", "upstream", "limited", ["10.77.0.1"], .dead(.provider)),
        Outage(
            "the provider's edge forwards nothing", "upstream", "limited", ["100.64.0.1"], .forwardsNothing(.provider)),
        Outage("the provider's core is dead", "upstream", "limited", ["100.64.0.1"], .dead(.core)),
        // Without an internet check the sidecar asks in no other network than the servers'.
        Outage("the provider's core forwards nothing", "path", "limited", ["100.65.0.2"], .forwardsNothing(.core))
            .with { $0.isAsExplained = false },
        Outage("the servers are dead", "path", "limited", ["100.65.0.2"], .dead(.servers))
            .with { $0.isAsExplained = false },
    ]

    /// Outages that the kernel knows.
    static let host: [Outage] = [
        Outage(
            "the uplink has no carrier", "mine", "local", ["uplink", "carrier"],
            .ip(.router, "link set lan down", undo: "link set lan up")),
        Outage(
            "the uplink is switched off", "mine", "local", ["uplink"],
            .ip(.client, "link set uplink down", undo: "link set uplink up")),
        Outage(
            "there is no default route", "mine", "local", ["no route"],
            .ip(.client, "-4 route del default", undo: "route list"),
            .ip(.client, "-6 route del default", undo: "route list")),
    ]

    /// Outages of one target, or of names: the way out works.
    static let targets: [Outage] = [
        Outage(
            "the target's port is closed", nil, "routed", ["web", "the server"],
            .rules(.servers, "chain i { type filter hook input priority 0; tcp dport 80 reject with tcp reset; }")
        ).with { $0.targetParty = "theirs" },
        Outage(
            "the target's port is filtered", nil, "routed", ["web", "the server"],
            .rules(.servers, "chain i { type filter hook input priority 0; tcp dport 80 drop; }")
        ).with { $0.targetParty = "theirs" },
    ]

    @Test("An outage of the way out", arguments: Self.ways, Traffic.allCases)
    func followsWay(_ outage: Outage, _ traffic: Traffic) async throws { try await self.follow(outage, traffic) }

    @Test("An outage that the kernel knows", arguments: Self.host, Traffic.allCases)
    func followsHost(_ outage: Outage, _ traffic: Traffic) async throws { try await self.follow(outage, traffic) }

    @Test("An outage of one target", arguments: Self.targets)
    func followsTarget(_ outage: Outage) async throws { try await self.follow(outage, .target) }

    private func follow(_ outage: Outage, _ traffic: Traffic) async throws {
        let lab = try await SituationLab()
        let hasTarget = traffic == .target
        let target = hasTarget ? "{name: web, host: 203.0.113.10, port: 80}" : nil
        try await lab.withSidecar(observing: target) { sidecar in
            let program = hasTarget ? nil : try lab.startProgram()
            try await sidecar.expectSound(hasTarget: hasTarget)
            try await lab.during(outage.outages, keepingNeighbours: true) { lab in
                let begin = Date()
                let start = try await sidecar.firstSilence(of: outage)
                #expect(start >= begin.addingTimeInterval(-1), "what was silent before the outage?")
                for (second, isDecided) in [(3.0, false), (10, true), (25, true)] {
                    try await Task.sleep(for: .seconds(max(0, start.addingTimeInterval(second).timeIntervalSinceNow)))
                    try await sidecar.expect(outage, hasTarget: hasTarget, since: start, isDecided: isDecided)
                    guard second == 10, outage.isAsExplained else { continue }
                    let answer = try await lab.explain(hasTarget ? "203.0.113.10:80" : nil)
                    #expect(answer.party == outage.party ?? outage.targetParty, "\(answer)")
                }
            }
            try await sidecar.expectSound(hasTarget: hasTarget)
            program?.signal(SIGTERM)
            _ = await program?.finish(within: .seconds(10))
        }
    }
}

extension SituationLab {
    /// A program that opens a connection each second.
    fileprivate func startProgram() throws -> Program {
        try Program(
            self.files.onClient(
                self.namespace(.client),
                ["sh", "-c", "while :; do curl -s -m 2 -o /dev/null http://203.0.113.10/; sleep 1; done"]))
    }
}

extension Sidecar {
    private static let descriptions = [
        "mine": "this host", "gateway": "your router", "upstream": "your provider", "resolver": "the resolver",
        "path": "on the way", "theirs": "the server", "unknown": "not known",
    ]

    /// What `/api/v1/status` says.
    private struct Status: Decodable {
        struct Diagnosis: Decodable {
            var state, sentence, advice, conclusion: String
            var party, since: String?
        }

        var level: String
        var diagnosis: Diagnosis?
    }

    private func status() async throws -> Status {
        try JSONDecoder().decode(Status.self, from: Data(try await self.get("/api/v1/status").utf8))
    }

    /// Waits until everything works, and everything says so.
    fileprivate func expectSound(hasTarget: Bool) async throws {
        var last = ""
        let isSound = try await eventually(within: .seconds(30)) {
            let page = try await self.page()
            let status = try await self.status()
            let target = try await self.target("web")
            let metrics = try await self.metrics()
            let outage = metrics.sum("tidegate_outage", containing: "party=")
            last = "\(page.headline); \(status); \(target.map { "\($0)" } ?? "no target"); \(outage)"
            return page.tone == "good" && status.level == "routed" && status.diagnosis?.state == "decided"
                && status.diagnosis?.conclusion != "broken" && target?.reached == (hasTarget ? true : nil)
                && outage == 0
                && metrics["tidegate_outage_start_timestamp_seconds"] == nil
        }
        #expect(isSound, "\(last): \(self.log)")
    }

    /// Waits for the first silence, and says when it was.
    fileprivate func firstSilence(of outage: SidecarTimelineTests.Outage) async throws -> Date {
        let start = try await eventualValue(within: .seconds(45)) { () -> String? in
            guard outage.party == nil else {
                let said = try await self.status()
                return said.diagnosis?.state == "checking" || said.diagnosis?.conclusion == "broken"
                    ? said.diagnosis?.since : nil
            }
            let target = try await self.target("web")
            return target?.reached == false ? target?.lastFailure?.since : nil
        }
        let text = try #require(start, "no silence was noticed: \(self.log)")
        return try Date(text, strategy: .iso8601WithFraction)
    }

    /// Expects that page, API, metrics and log say the same of an outage, and that it is right; or that it is checked.
    fileprivate func expect(
        _ outage: SidecarTimelineTests.Outage, hasTarget: Bool, since start: Date, isDecided: Bool
    ) async throws {
        let status = try await self.status()
        let page = try await self.page()
        let diagnosis = try #require(status.diagnosis, "\(self.log)")
        if !isDecided, diagnosis.state == "checking" {
            #expect(diagnosis.party == nil)
            return
        }
        // The diagnosis is decided a moment before the check that waits for it ends.
        let target = try await self.target("web")
        #expect((target != nil) == hasTarget)
        if let target, isDecided || target.checkingSince == nil {
            #expect(target.reached == false, "\(self.log)")
            #expect(target.lastFailure?.party == outage.targetParty, "\(target)")
            let word = outage.targetParty.flatMap { Self.descriptions[$0] } ?? "-"
            #expect(page.targets["web"]?.contains(word) ?? false, "“\(word)” in \(page.targets)")
            #expect(try await self.metrics()["tidegate_target_reachable{target=\"web\"}"] == 0)
        }
        #expect(diagnosis.state == "decided")
        #expect(diagnosis.party == outage.party, "\(diagnosis): \(self.log)")
        #expect(status.level == outage.level)
        for phrase in outage.says { #expect(page.headline.contains(phrase), "“\(phrase)” in “\(page.headline)”") }
        #expect(page.headline.count <= 90)
        guard let party = outage.party, let word = Self.descriptions[party] else { return }
        #expect(page.headline == diagnosis.sentence)
        #expect(page.detail.contains(diagnosis.advice) && !diagnosis.advice.isEmpty, "\(page.detail)")
        #expect(page.tone == "bad")
        let since = try Date(diagnosis.since ?? "", strategy: .iso8601WithFraction)
        #expect(since == start, "since does not move")
        let metrics = try await self.metrics()
        #expect(metrics["tidegate_outage{party=\"\(party)\"}"] == 1)
        #expect(metrics.sum("tidegate_outage", containing: "party=") == 1)
        let seconds = metrics["tidegate_outage_start_timestamp_seconds"] ?? 0
        #expect(abs(seconds - start.timeIntervalSince1970) < 0.001, "\(seconds)")
        let line = self.log.split(separator: "\n").last { $0.contains("network diagnosed") } ?? ""
        #expect(line.contains("text=\"\(diagnosis.sentence)\"") && line.contains("party=\"\(word)\""), "\(line)")
    }
}

extension ParseStrategy where Self == Date.ISO8601FormatStyle {
    fileprivate static var iso8601WithFraction: Self { .init(includingFractionalSeconds: true) }
}
