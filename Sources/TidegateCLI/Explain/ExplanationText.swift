internal import Tidegate

/// The text of `explain`: the conclusion, then the ladder if it adds something.
enum ExplanationText {
    /// The maximum line length, even on a wider terminal.
    static let maxWidth = 100

    /// The lines of an explanation; for a target that works, only the result unless `isVerbose`.
    static func lines(
        _ explanation: Explanation, _ style: TextStyle, isVerbose: Bool = false, _ daemon: DaemonKnowledge? = nil
    ) -> [String] {
        let page = ExplanationPage(style)
        var lines = self.conclusion(explanation, page, daemon)
        for target in daemon?.targets ?? [] { lines += page.row("target", target) }
        if isVerbose, let daemon, daemon.report == nil { lines += page.row("daemon", "not asked: \(daemon.missing)") }
        guard isVerbose || explanation.conclusion == .broken || explanation.conclusion == .notChecked else {
            return lines
        }
        let addresses = explanation.addresses.map(\.description)
        // A literal address would only be repeated.
        if addresses.count != 1 || !explanation.target.contains(addresses[0]) {
            lines += page.row("addresses", addresses.isEmpty ? "none known" : addresses.joined(separator: ", "))
        }
        return lines + [""] + self.ladder(self.shown(explanation, isVerbose: isVerbose), page)
    }

    /// The decided rungs, one line each, while others are still being checked.
    static func progress(_ explanation: Explanation, _ style: TextStyle) -> [String] {
        let page = ExplanationPage(style)
        return explanation.ladders.flatMap { ladder -> [String] in
            let decided = ladder.rungs.filter { $0.status == .ok || $0.status == .bad }
            guard let last = decided.last else { return [] }
            let clause = last.evidence.first ?? ""
            return page.rung(
                last.status, name: last.rung.rawValue,
                clauses: [String("\(ladder.family.name): \(clause)".prefix(page.width - 20))])
        }
    }

    // MARK: The conclusion

    private static func conclusion(
        _ explanation: Explanation, _ page: ExplanationPage, _ daemon: DaemonKnowledge?
    ) -> [String] {
        switch explanation.conclusion {
        case .works, .worksBut:
            var lines = self.result(explanation, page)
            if let way = self.wayOut(explanation) { lines += page.row("way out", way) }
            for finding in explanation.findings { lines += page.row("but", finding, .doubtful) }
            return lines + (explanation.quality.map { [""] + self.quality($0, page.style) } ?? [])
        case .broken, .notChecked:
            let verb = explanation.conclusion == .notChecked ? "was not checked" : "does not work"
            let isOffline = explanation.conclusion == .broken && explanation.target == Explanation.internet
            let start = isOffline ? "No internet" : "\(explanation.target) \(verb)"
            var lines = page.headline(start + (explanation.cause.map { ": \($0)" } ?? ""), .bad)
            if let failure = explanation.firstFailure {
                lines += page.row("fails at", self.place(failure, explanation))
            }
            if let party = explanation.party { lines += page.row("whose", party.description) }
            if let daemon, let since = daemon.since(explanation) {
                lines += page.row("since", "\(since.clockTime) UTC (\(since.ago(at: daemon.now).shortText))")
            }
            if !explanation.advice.isEmpty { lines += page.row("advice", explanation.advice) }
            for finding in explanation.findings { lines += page.row("also", finding) }
            return lines
        }
    }

    private static func result(_ explanation: Explanation, _ page: ExplanationPage) -> [String] {
        let result = explanation.result
        guard let quality = explanation.quality, let slow = quality.cause else {
            let failing = explanation.failingFamilies.first.map { ", but \($0.name) does not" }
            let end = result.map { ": \($0)" } ?? failing ?? ""
            return page.headline(
                "\(explanation.target) works\(end)", result == nil && failing != nil ? .doubtful : .good)
        }
        let cause = Cause.slow(slow)
        return page.headline("\(explanation.target) works, but slowly: \(cause)", .doubtful)
            + (result.map { page.row("result", $0) } ?? []) + page.row("slow at", "\(slow.segment)")
            + page.row("whose", "\(cause.party)") + page.row("advice", quality.advice)
    }

    /// What was measured of each part of the path.
    private static func quality(_ quality: Quality, _ style: TextStyle) -> [String] {
        var table = Table(head: ["quality", "loss", "median", "95 %", "echoes", "what"])
        for host in quality.hosts {
            let loss = host.median == nil ? "no answer" : host.lossRatio.map { "\(Int(($0 * 100).rounded())) %" }
            table.add(
                .init(host.address.description), .init(loss ?? ""), .init(host.median?.shortText ?? ""),
                .init(host.percentile(95)?.shortText ?? ""), .init("\(host.sent)"), .init("\(host.segment)"))
        }
        let hidden = quality.hidden.map(\.description).joined(separator: ", ")
        return table.lines(style) + (hidden.isEmpty ? [] : ["Not known because of that: \(hidden)."])
    }

    private static func place(_ failure: RungReport, _ explanation: Explanation) -> String {
        let failing = explanation.ladders.filter { $0.firstFailure?.rung == failure.rung }.map(\.family)
        guard failing.count == 1, explanation.ladders.count > 1 else { return failure.rung.rawValue }
        return "\(failure.rung.rawValue) over \(failing[0].name)"
    }

    private static func wayOut(_ explanation: Explanation) -> String? {
        let ways = explanation.ladders.filter { $0.firstFailure == nil }.compactMap { ladder in
            ladder.rungs.first { $0.rung == .route && $0.status == .ok }?.evidence.first
        }
        return ways.isEmpty ? nil : ways.joined(separator: "; ")
    }

    // MARK: The ladder

    // An IP version without an address of the target or without a way out says nothing about the target.
    private static func shown(_ explanation: Explanation, isVerbose: Bool) -> [Explanation.Ladder] {
        guard !isVerbose else { return explanation.ladders }
        let families = Set(explanation.addresses.map(\.family))
        let named = explanation.ladders.filter { families.isEmpty || families.contains($0.family) }
        let isOut = named.contains { ladder in ladder.rungs.contains { $0.rung == .route && $0.status == .ok } }
        let shown = named.filter { ladder in
            !isOut || ladder.rungs.contains { $0.rung == .route && $0.status == .ok }
        }
        return shown.isEmpty ? explanation.ladders : shown
    }

    /// Rungs with the same result for both IP versions are shown once.
    private static func ladder(_ ladders: [Explanation.Ladder], _ page: ExplanationPage) -> [String] {
        guard let first = ladders.first else { return [] }
        let title = ladders.map(\.family.name).joined(separator: " and ")
        let rows = first.rungs.indices.flatMap { position -> [String] in
            let reports = ladders.map { $0.rungs[position] }
            let isSame = reports.allSatisfy { $0.status == reports[0].status && $0.evidence == reports[0].evidence }
            if isSame { return self.rung(reports[0], nil, page) }
            return zip(ladders, reports).flatMap { self.rung($1, $0.family, page) }
        }
        return [page.style.paint(title, .strong)] + rows
    }

    private static func rung(_ report: RungReport, _ family: AddressFamily?, _ page: ExplanationPage) -> [String] {
        var clauses = report.evidence
        if clauses.isEmpty, report.status == .notApplicable { clauses = ["not applicable"] }
        let name = family.map { "\(report.rung.rawValue) \($0.name)" } ?? report.rung.rawValue
        return page.rung(report.status, name: name, clauses: clauses)
    }
}

extension RungReport.Status {
    /// The mark before a rung.
    fileprivate var mark: (text: String, color: TextColor) {
        switch self {
        case .ok: ("ok", .good)
        case .bad: ("bad", .bad)
        case .unknown: ("?", .doubtful)
        case .notApplicable: ("-", .faint)
        }
    }
}

/// The columns of an explanation.
struct ExplanationPage {
    let style: TextStyle
    let width: Int
    private static let labelWidth = 9
    private static let markWidth = 3
    // The length of the longest rung name with its IP version.
    private static let nameWidth = 14

    init(_ style: TextStyle) {
        self.style = style
        self.width = min(max(style.width, 40), ExplanationText.maxWidth)
    }

    /// The first line, wrapped without an indent.
    func headline(_ text: String, _ color: TextColor) -> [String] {
        LineWrapper.lines(text, to: self.width).map { self.style.paint($0, color) }
    }

    /// A label and its text.
    func row(_ label: String, _ text: String, _ color: TextColor? = nil) -> [String] {
        let indent = ExplanationPage.labelWidth + 2
        let wrapped = LineWrapper.lines(text, to: self.width - indent)
        return wrapped.enumerated().map { position, line in
            guard !line.isEmpty else { return self.style.paint(label, .faint) }
            let start =
                position == 0 ? ExplanationPage.padded(label, to: indent) : String(repeating: " ", count: indent)
            return self.style.paint(start, position == 0 ? .faint : nil) + self.style.paint(line, color)
        }
    }

    /// A rung: its mark, its name, and one line for each clause.
    func rung(_ status: RungReport.Status, name: String, clauses: [String]) -> [String] {
        let (mark, color) = status.mark
        let indent = 2 + ExplanationPage.markWidth + 2 + ExplanationPage.nameWidth + 2
        let painted =
            self.style.paint(mark, color) + ExplanationPage.padded("", to: ExplanationPage.markWidth + 2 - mark.count)
        let visible = clauses.filter { !$0.allSatisfy(\.isWhitespace) }
        guard !visible.isEmpty else { return ["  \(painted)\(name)"] }
        let start = "  \(painted)\(ExplanationPage.padded(name, to: ExplanationPage.nameWidth + 2))"
        let blank = String(repeating: " ", count: indent)
        let wrapped = visible.flatMap { clause in
            // Continuation lines of a clause are indented.
            LineWrapper.lines(clause, to: self.width - indent - 2).enumerated().map { $0 == 0 ? $1 : "  \($1)" }
        }
        return wrapped.enumerated().map { ($0 == 0 ? start : blank) + $1 }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
