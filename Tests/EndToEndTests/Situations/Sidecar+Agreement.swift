import Foundation
import Testing
import TidegateTestKit

extension Sidecar {
    private static let limit = Duration.seconds(45)

    /// The party in words.
    private static let descriptions = [
        "mine": "this host", "gateway": "your router", "upstream": "your provider", "resolver": "the resolver",
        "path": "on the way", "theirs": "the server", "unknown": "not known",
    ]

    /// Waits until it says what `explain` said of this host, and compares page and metrics with that.
    ///
    /// A sidecar may know more than `explain`: that it has seen the router alive. Then only rung and party have to agree.
    func expectAgreement(with answer: SituationAnswer, remembers: Bool) async throws {
        let agreed = try await eventualValue(within: Self.limit) { () -> SituationAnswer? in
            _ = try await self.page()
            let said = try await self.diagnosis()
            return said?.agrees(with: answer, onCause: !remembers) ?? false ? said : nil
        }
        guard let said = agreed else {
            let last = try await self.diagnosis()
            Issue.record("the sidecar: \(last.map { "\($0)" } ?? "nothing"); explain: \(answer)")
            return
        }
        let page = try await self.page()
        #expect(page.greenRungs.isSubset(of: answer.workingRungs), "\(page.headline)")
        let metrics = try await self.metrics()
        for (family, ladder) in said.families {
            for rung in ladder.rungs where rung.status == "bad" || rung.status == "ok" {
                let series =
                    "tidegate_rung_status{family=\"\(family)\",rung=\"\(rung.rung)\",status=\"\(rung.status)\"}"
                #expect(metrics[series] == 1, "\(series)")
            }
        }
        guard said.firstFailure != nil else {
            #expect(page.tone != "bad", "\(page.headline)")
            return
        }
        #expect(page.headline == said.sentence)
        #expect(
            page.detail.contains("Since ") && page.detail.hasSuffix(said.advice), "“\(said.advice)” in: \(page.detail)")
        #expect(page.tone == "bad", "\(page.headline)")
    }

    /// Waits until it says of a target what `explain` said, and compares page and metrics with that.
    func expectAgreement(on target: SidecarTarget, with answer: SituationAnswer) async throws {
        let agrees = try await eventually(within: Self.limit) {
            guard let said = try await self.target(target.name) else { return false }
            return said.reached == (answer.status == 0)
                && (answer.status == 0 || said.lastFailure?.party == answer.party)
        }
        guard agrees else {
            let said = try await self.target(target.name)
            Issue.record("\(target.name): \(said.map { "\($0)" } ?? "nothing"); explain: \(answer)")
            return
        }
        let row = try await self.page().targets[target.name] ?? ""
        let reachable = try await self.metrics()["tidegate_target_reachable{target=\"\(target.name)\"}"]
        #expect(reachable == (answer.status == 0 ? 1 : 0), "\(target.name)")
        if answer.status != 0, let word = answer.party.flatMap({ Self.descriptions[$0] }) {
            #expect(row.contains(word), "\(target.name): “\(word)” in \(row)")
            #expect(!row.contains("reached") || row.contains("not reached"), "\(target.name): \(row)")
        }
    }

    /// Waits until every task that has failed so far is charged, and expects that all of them are the party's.
    ///
    /// What fails in silence is charged after 30 s.
    func expectFailures(of party: String?, since before: [String: Double]) async throws {
        let failed = try await self.metrics().sum("tidegate_task_completions_total", containing: "outcome=\"failure\"")
        let isSettled = try await eventually(within: Self.limit) {
            try await self.failuresByParty().values.reduce(0, +) >= failed
        }
        #expect(isSettled)
        let now = try await self.failuresByParty()
        let charged = Set(now.filter { $0.value > before[$0.key] ?? 0 }.keys).subtracting(["unknown"])
        let attempts = self.log.split(separator: "\n").filter {
            $0.contains("attempt failed") || $0.contains("revised")
        }
        #expect(
            charged.isSubset(of: [party].compactMap(\.self)), "\(now); \(attempts.joined(separator: "\n"))")
    }

    /// Waits until it has diagnosed an outage so many times, each time with this party, and expects that every task that
    /// has failed is charged to it.
    func expectParty(_ party: String, after count: Int, since before: [String: Double]) async throws {
        var diagnoses: [String: SituationAnswer] = [:]
        let isDiagnosed = try await eventually {
            _ = try await self.page()
            if let said = try await self.diagnosis(), said.firstFailure != nil { diagnoses[said.time ?? ""] = said }
            return diagnoses.count >= count
        }
        #expect(isDiagnosed, "\(diagnoses)")
        for said in diagnoses.values { #expect(said.party == party, "\(said): \(self.log)") }
        try await self.expectFailures(of: party, since: before)
    }

    /// Waits until everything works that should: targets, tasks, and what it says of this host.
    func expectHealth() async throws {
        let done = try await self.successes()
        var missing = ""
        let isHealthy = try await eventually(within: Self.limit) {
            let page = try await self.page()
            let said = try await self.diagnosis()
            let targets = try await SidecarTarget.all.asyncFilter {
                try await self.target($0.name)?.reached != $0.isHealthy
            }
            let successes = try await self.successes()
            missing = "\(targets.map(\.name)), \(page.tone), \(page.headline), \(said.map { "\($0)" } ?? "-")"
            return targets.isEmpty && page.tone != "bad" && said?.firstFailure == nil && said != nil
                && successes > done
        }
        #expect(isHealthy, "\(missing): \(self.log)")
    }

    private func successes() async throws -> Double {
        try await self.metrics().sum("tidegate_task_completions_total", containing: "outcome=\"success\"")
    }
}

extension SituationAnswer {
    fileprivate func agrees(with other: SituationAnswer, onCause: Bool) -> Bool {
        guard self.firstFailure == other.firstFailure, self.party == other.party else { return false }
        return !onCause || self.party == nil || self.cause == other.cause && self.advice == other.advice
    }

    fileprivate var workingRungs: Set<String> {
        Set(self.families.values.flatMap(\.rungs).filter { $0.status == "ok" }.map(\.rung))
    }
}

extension Sequence {
    fileprivate func asyncFilter(_ isIncluded: (Element) async throws -> Bool) async rethrows -> [Element] {
        var result: [Element] = []
        for element in self where try await isIncluded(element) { result.append(element) }
        return result
    }
}
