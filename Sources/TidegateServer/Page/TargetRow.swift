internal import TidegateCore

/// A configured target as a row of the page: its state, latency and last failure.
struct TargetRow {
    let verdict: TargetVerdict
    /// The name in the configuration.
    let configuredName: String?
    /// The results of its checks; nil if it is not checked.
    let report: TargetCheckReport?
    /// Its last checks, oldest first.
    let marks: [HistoryRecord.CheckMark]
    let links: [Link]
    /// When something on the way to every target began to fail; nil if nothing fails.
    let brokenSince: WallTime?
    let now: WallTime
    /// The id of its open incident.
    var incident: String?
    /// Why it is slow; nil if it is not.
    var trouble: QualityStatus.Trouble?

    /// The row mentions a certificate that expires within this time.
    static let certificateLimit = Duration.seconds(30 * 86_400)

    var name: String { self.configuredName ?? self.verdict.target.description }

    /// True if it is known to be unreachable.
    var isFailing: Bool { self.report?.isReached == false || self.isUnrouted }

    // While the kernel cannot be read, the verdict is unknown and says nothing about the target.
    private var isUnrouted: Bool { self.verdict.verdict.level != .unknown && self.verdict.verdict.level < .routed }

    /// Why it is not reached, as a clause; nil if it is.
    var failureText: String? {
        guard self.isFailing else { return nil }
        let isKnown = self.verdict.verdict.level != .unknown
        return self.diagnosed?.text
            ?? (isKnown ? VerdictDescriptions.phrase(self.verdict.verdict, among: self.links) : nil)
            ?? self.report?.lastFailure?.text
    }

    /// The responsible party of a target that is not reached.
    var party: FaultParty? {
        if let diagnosed = self.diagnosed { return diagnosed.party }
        return self.isUnrouted ? self.verdict.verdict.reason?.party : self.report?.lastFailure?.party
    }

    /// What to do; nil if the cause is unknown.
    var advice: String? {
        guard !self.isUnrouted || self.diagnosed != nil else { return nil }
        return self.report?.lastFailure.flatMap { $0.advice.isEmpty ? nil : $0.advice }
    }

    /// When the first failed check since the last success began.
    var since: WallTime? { self.report?.lastFailure?.since }

    // The result of a check of the verdict's own reason: a silent resolver may not be at fault.
    private var diagnosed: TargetCheckReport.Failure? {
        guard let failure = self.report?.lastFailure, failure.reason == self.verdict.verdict.reason else { return nil }
        return failure
    }

    static let heads = ["Target", "State", "Latency", "Last failure, and whose", "Way out"]

    var cells: [HTML] {
        [
            .name(self.name, self.configuredName.map { _ in self.verdict.target.description }),
            "\(self.state)\(self.certificate)", self.strip, self.lastFailure,
            .text(self.verdict.verdict.path?.description),
        ]
    }

    var row: RowTable.Row {
        let failure = self.failureText.map { text in text + (self.party.map { " (\($0))" } ?? "") }
        let parts = [self.verdict.target.description, failure, self.advice, self.verdict.verdict.path?.description]
        return .init(
            cells: self.cells, isUrgent: self.isFailing,
            detail: parts.compactMap(\.self).joined(separator: "; "))
    }

    private var state: HTML {
        // A server that is only slow has answered by then.
        if self.report?.isReached != false, let start = self.report?.checkingSince,
            start.ago(at: self.now) >= .seconds(1)
        {
            return HTML("b", "checking since \(.time(start))")
        }
        return switch (self.report?.isReached, self.verdict.verdict.level) {
        case (_, .none), (_, .local): .level(self.verdict.verdict.level)
        case (true?, _): self.reached
        case (false?, _): .bad("not reached")
        case (nil, let level):
            level == .online ? .level(level) : "\(.level(level)) \(HTML("span", class: "note", "not checked"))"
        }
    }

    // Results from before the outage do not describe the current state.
    private var reached: HTML {
        guard let since = self.brokenSince, let last = self.report?.lastSuccess, last < since else {
            return .good("reached")
        }
        return HTML("b", "reached \(.ago(last, at: self.now)) ago")
    }

    private var certificate: HTML? {
        guard let end = self.report?.certificateExpiry, end.since(self.now) < TargetRow.certificateLimit else {
            return nil
        }
        return HTML(
            "div", class: "note wait",
            end > self.now
                ? "certificate ends in \(end.since(self.now).shortText)" : "the certificate has expired")
    }

    private var lastFailure: HTML {
        if let text = self.failureText {
            // During an outage of everything, the first lines contain the advice.
            let advice = self.brokenSince == nil ? self.advice : nil
            let note = advice.map { HTML.note("\($0)") }
            let link = self.incident.map { HTML("a", with: ["href": "/incidents/\($0)"], "outage") }
            return "\(.failure("\(text)", of: self.party)) \(link)\(note)"
        }
        if let trouble = self.trouble {
            let cause = Cause.slow(trouble.cause).description
            return "\(.failure("slow: \(cause)", of: trouble.party))\(HTML.note("\(trouble.advice)"))"
        }
        guard let failure = self.report?.lastFailure else { return .dash }
        return HTML("span", class: "past", .failure("\(.time(failure.time)) \(failure.text)", of: failure.party))
    }

    private var strip: HTML {
        guard !self.marks.isEmpty else { return .text(self.report?.latency?.shortText) }
        let columns = self.marks.map { mark -> LatencyStrip.Column in
            (mark.time, mark.latency, mark.latency == nil ? "miss" : "hit", mark.latency?.shortText ?? "not reached")
        }
        return LatencyStrip(columns: columns, noun: "checks").html
    }
}
