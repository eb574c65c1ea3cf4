internal import Tidegate

/// Lays an explanation out for people: what was asked, both ladders, and what follows from them.
enum ExplanationText {
    /// No line is longer, however wide the terminal is.
    static let widest = 100

    /// The lines of an explanation, without line ends.
    static func lines(_ explanation: Explanation, _ style: TextStyle) -> [String] {
        let page = Page(style)
        var lines = page.row("target", explanation.target, .strong)
        let addresses = explanation.addresses.map(\.description)
        // A target that is an address has said it already.
        if addresses.count != 1 || !explanation.target.contains(addresses[0]) {
            lines += page.row("addresses", addresses.isEmpty ? "none known" : addresses.joined(separator: ", "))
        }
        for ladder in explanation.ladders { lines += [""] + self.ladder(ladder, page) }
        return lines + [""] + self.conclusion(explanation, page)
    }

    private static func ladder(_ ladder: Explanation.Ladder, _ page: Page) -> [String] {
        let title = page.style.paint(ladder.family.words, .strong)
        return [title] + ladder.rungs.flatMap { self.rung($0, page) }
    }

    private static func rung(_ report: RungReport, _ page: Page) -> [String] {
        let headline = self.headline(report)
        // What failed is said first, unless the evidence says it already.
        let isSaid = headline.map(report.evidence.contains) ?? true
        var clauses = (isSaid ? [] : [headline].compactMap(\.self)) + report.evidence
        if clauses.isEmpty, report.status == .notApplicable { clauses = ["does not apply"] }
        return page.rung(
            mark: report.status.mark, tone: report.status.tone, name: report.rung.rawValue, clauses: clauses)
    }

    private static func conclusion(_ explanation: Explanation, _ page: Page) -> [String] {
        var lines: [String]
        if let failure = explanation.firstFailure {
            let isShared = explanation.ladders.allSatisfy { $0.firstFailure?.rung == failure.rung }
            let ladder = isShared ? nil : explanation.ladders.first { $0.firstFailure == failure }
            lines = page.row("fails at", self.words(of: failure, over: ladder?.family), .bad)
        } else if explanation.party == nil {
            lines = page.row("fails at", self.nothing(explanation), .good)
        } else {
            lines = page.row("fails at", "nothing that could be seen", .doubtful)
        }
        if let party = explanation.party { lines += page.row("whose", VerdictDescriptions.text(of: party)) }
        if !explanation.advice.isEmpty { lines += page.row("advice", explanation.advice) }
        return lines
    }

    private static func words(of failure: RungReport, over family: AddressFamily?) -> String {
        let place = [failure.rung.rawValue, family.map { "over \($0.words)" }].compactMap(\.self).joined(separator: " ")
        return place + (self.headline(failure).map { ": \($0)" } ?? "")
    }

    // What failed, in the evidence's own words where those name the link or the name.
    private static func headline(_ report: RungReport) -> String? {
        guard let reason = report.reason else { return nil }
        return report.evidence.first { VerdictDescriptions.isSaid(reason, by: $0) }
            ?? VerdictDescriptions.phrase(reason)
    }

    // What the other family lacks stands beside what this one reaches.
    private static func nothing(_ explanation: Explanation) -> String {
        let failing = explanation.ladders.compactMap { ladder in
            ladder.firstFailure.map { self.words(of: $0, over: ladder.family) }
        }
        let good = explanation.ladders.filter { $0.firstFailure == nil }.map(\.family.words)
        guard !failing.isEmpty, !good.isEmpty else { return "nothing" }
        return (["nothing over \(good.joined(separator: " and "))"] + failing).joined(separator: "; ")
    }

    /// The columns of the page.
    private struct Page {
        let style: TextStyle
        let width: Int
        private static let labelWidth = 9
        private static let markWidth = 3
        // The longest name of a rung.
        private static let nameWidth = 9

        init(_ style: TextStyle) {
            self.style = style
            self.width = min(max(style.width, 40), ExplanationText.widest)
        }

        func row(_ label: String, _ text: String, _ tone: TextStyle.Tone? = nil) -> [String] {
            let indent = Page.labelWidth + 2
            let folded = LineWrapper.lines(text, to: self.width - indent)
            return folded.enumerated().map { position, line in
                guard !line.isEmpty else { return self.style.paint(label, .faint) }
                let start = position == 0 ? Page.padded(label, to: indent) : String(repeating: " ", count: indent)
                return self.style.paint(start, position == 0 ? .faint : nil) + self.style.paint(line, tone)
            }
        }

        func rung(mark: String, tone: TextStyle.Tone, name: String, clauses: [String]) -> [String] {
            let indent = 2 + Page.markWidth + 2 + Page.nameWidth + 2
            let painted = self.style.paint(mark, tone) + Page.padded("", to: Page.markWidth + 2 - mark.count)
            let said = clauses.filter { !$0.allSatisfy(\.isWhitespace) }
            guard !said.isEmpty else { return ["  \(painted)\(name)"] }
            let start = "  \(painted)\(Page.padded(name, to: Page.nameWidth + 2))"
            let blank = String(repeating: " ", count: indent)
            let folded = said.flatMap { clause in
                // What belongs to a clause stands a little further in than the next clause.
                LineWrapper.lines(clause, to: self.width - indent - 2).enumerated().map { $0 == 0 ? $1 : "  \($1)" }
            }
            return folded.enumerated().map { ($0 == 0 ? start : blank) + $1 }
        }

        private static func padded(_ text: String, to width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
    }
}

extension RungReport.Status {
    /// The word before a rung.
    fileprivate var mark: String {
        switch self {
        case .ok: "ok"
        case .bad: "bad"
        case .unknown: "?"
        case .notApplicable: "-"
        }
    }

    fileprivate var tone: TextStyle.Tone {
        switch self {
        case .ok: .good
        case .bad: .bad
        case .unknown: .doubtful
        case .notApplicable: .faint
        }
    }
}

extension AddressFamily {
    /// The family as people write it.
    fileprivate var words: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }
}
