import Testing
import TidegateAttribution
import Tidegate
@testable import TidegateCore

@testable import TidegateCLI
@testable import TidegateDaemon
@testable import TidegateServer

/// `status`, `fetch`, `explain`, the page and the log describe one reason alike.
@Suite struct DescriptionTests {
    private let style = TextStyle(isColored: false, width: 400)

    private static let id = TaskID("018bcfe5-6800-7000-8000-000000000001")

    private func event(_ payload: Event.Payload) -> Event {
        Event(sequence: 1, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0), payload: payload)
    }

    private func page(_ payload: Event.Payload) -> EventLine { EventLine(self.event(payload)) }

    // MARK: - Reasons

    private func status(_ verdict: Verdict) -> String {
        let status = ReachabilityStatus(
            global: verdict, mode: .event, families: [.init(family: .ipv4, verdict: verdict)], links: [], targets: [],
            health: .init())
        return StatusText().lines(status, self.style).joined(separator: "\n")
    }

    private func explanation(_ reason: UnreachableReason, _ party: FaultParty) -> String {
        let cause = Cause.thisHost(.kernel(.init(reason: reason, family: .ipv4)))
        let report = RungReport(rung: reason.rung, status: .bad, reason: reason, evidence: [cause.description])
        let explanation = Explanation(
            target: "api.example.com", addresses: [], ladders: [.init(family: .ipv4, rungs: [report], cause: cause)],
            conclusion: .broken, firstFailure: report, cause: cause, party: party, advice: "")
        return ExplanationText.lines(explanation, self.style).joined(separator: "\n")
    }

    @Test("A reason has one description", arguments: UnreachableReason.allCases)
    func reason(_ reason: UnreachableReason) throws {
        let lost = Verdict(level: .none, reason: reason)
        let id = try #require(Self.id)
        #expect(self.status(lost).contains(reason.description))
        #expect(self.explanation(reason, .mine).contains(reason.description))
        let change = Event.Payload.path(PathEvent(scope: .global, from: Verdict(level: .routed), to: lost))
        #expect(self.page(change).text.contains(reason.description))
        // What an attempt that lost its path reports.
        let evidence = FailureEvidence(failure: .connectFailed, before: Verdict(level: .routed), after: lost)
        let attribution = try #require(DecisionTable.attribution(of: evidence))
        let failed = TaskEvent.Kind.attemptFailed(
            AttemptSummary(number: 1, method: "GET", duration: .zero), .connectFailed, attribution, isCharged: true)
        let payload = Event.Payload.task(TaskEvent(id: id, taskKind: .data, kind: failed))
        #expect(try #require(FetchText.clause(failed)).contains(reason.description))
        #expect(self.page(payload).text.contains(reason.description))
        let record = try #require(EventRecord(self.event(payload)))
        #expect(record.fields["evidence"].map { "\($0)" }?.contains(reason.description) == true)
    }

    @Test("No description is an enum case, and no two reasons share one", arguments: [UnreachableReason.allCases])
    func distinct(_ reasons: [UnreachableReason]) {
        #expect(Set(reasons.map(\.description)).count == reasons.count)
        for reason in reasons { #expect(reason.description != reason.rawValue) }
    }

    // MARK: - Parties and failures

    @Test("A party has one name", arguments: FaultParty.allCases)
    func party(_ party: FaultParty) throws {
        #expect(self.explanation(.refused, party).contains("whose      \(party)\n"))
        let id = try #require(Self.id)
        let result = TaskResult(
            id: id, kind: .data, method: "GET", url: "http://a/", outcome: .failure, attempts: 1,
            failure: .connectFailed, attribution: Attribution(party: party))
        #expect(FetchText.summary(result, label: "x").hasSuffix("(\(party))"))
        let end = Event.Payload.task(TaskEvent(id: id, taskKind: .data, kind: .completed(result)))
        #expect(self.page(end).party == party)
        var watch = WatchText()
        let lines = watch.lines(self.event(end).json().description, self.style)
        #expect(lines.count == 1 && lines[0].hasSuffix("(\(party))"))
    }

    @Test("A failure has one description", arguments: TaskFailure.allCases.filter { $0 != .cancelled })
    func failure(_ failure: TaskFailure) throws {
        let id = try #require(Self.id)
        let failed = TaskEvent.Kind.attemptFailed(
            AttemptSummary(number: 1, method: "GET", duration: .zero), failure, nil, isCharged: true)
        let payload = Event.Payload.task(TaskEvent(id: id, taskKind: .data, kind: failed))
        let sentence = "attempt 1 failed: \(failure)"
        #expect(FetchText.clause(failed) == sentence)
        #expect(self.page(payload).text == sentence)
        var watch = WatchText()
        let lines = watch.lines(self.event(payload).json().description, self.style)
        #expect(lines.count == 1 && lines[0].hasSuffix("  \(sentence)"))
    }

    @Test("A hold has one description", arguments: HoldReason.allCases)
    func hold(_ reason: HoldReason) throws {
        let id = try #require(Self.id)
        let payload = Event.Payload.task(TaskEvent(id: id, taskKind: .data, kind: .held(reason, detail: nil)))
        let text = reason == .circuit ? "\(reason)" : "waiting: \(reason)"
        #expect(self.page(payload).text == text)
        var watch = WatchText()
        let lines = watch.lines(self.event(payload).json().description, self.style)
        // A backoff is shown by its retry.
        #expect(lines.allSatisfy { $0.hasSuffix(text) } && lines.isEmpty == (reason == .backoff))
    }
}
