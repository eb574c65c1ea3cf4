internal import TidegateCore

/// A configured target as a row of the page: whether it is reached, how fast, and what its last failure was.
struct TargetRow {
    let verdict: TargetVerdict
    /// The name of the configuration.
    let configuredName: String?
    /// What its checks have found; nil if it is not checked.
    let report: TargetCheckReport?
    /// Its last checks, the oldest first.
    let marks: [HistoryRecord.CheckMark]
    let links: [Link]
    /// Since when something on the way to every target fails; nil if nothing does.
    let brokenSince: WallTime?
    let now: WallTime

    /// The row mentions a certificate that ends sooner than this.
    static let certificateLimit = Duration.seconds(30 * 86_400)

    var name: String { self.configuredName ?? self.verdict.target.description }

    /// True if it is known not to be reached.
    var isFailing: Bool { self.report?.isReached == false || self.isUnrouted }

    // A verdict that is not known, while the kernel cannot be read, says nothing about the target.
    private var isUnrouted: Bool { self.verdict.verdict.level != .unknown && self.verdict.verdict.level < .routed }

    /// Why it is not reached, in a clause; nil if it is.
    var failureText: String? {
        guard self.isFailing else { return nil }
        let isKnown = self.verdict.verdict.level != .unknown
        return self.diagnosed?.text
            ?? (isKnown ? VerdictDescriptions.phrase(self.verdict.verdict, among: self.links) : nil)
            ?? self.report?.lastFailure?.text
    }

    /// Whose failure that is; this, and what to do, is about a target that is not reached.
    var party: FaultParty? {
        if let diagnosed = self.diagnosed { return diagnosed.party }
        return self.isUnrouted ? self.verdict.verdict.reason?.party : self.report?.lastFailure?.party
    }

    /// What to do; nil if the cause is not known.
    var advice: String? {
        guard !self.isUnrouted || self.diagnosed != nil else { return nil }
        return self.report?.lastFailure.flatMap { $0.advice.isEmpty ? nil : $0.advice }
    }

    /// When the first check began that has failed since it was reached last.
    var since: WallTime? { self.report?.lastFailure?.since }

    // What a check has found out about the very reason of the verdict: a resolver that is silent may not be at fault.
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

    // What was found before the outage says nothing about now.
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
            // What to do in an outage of all stands in the first lines.
            let advice = self.brokenSince == nil ? self.advice : nil
            let note = advice.map { HTML.note("\($0)") }
            return "\(.failure("\(text)", of: self.party))\(note)"
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
