internal import Tidegate

/// The text of `explain`: the target, both ladders and the conclusion.
enum ExplanationText {
    /// The maximum line length, even on a wider terminal.
    static let maxWidth = 100

    /// The lines of an explanation.
    static func lines(_ explanation: Explanation, _ style: TextStyle) -> [String] {
        let page = Page(style)
        var lines = page.row("target", explanation.target, .strong)
        let addresses = explanation.addresses.map(\.description)
        // The address of a literal target would only be repeated.
        if addresses.count != 1 || !explanation.target.contains(addresses[0]) {
            lines += page.row("addresses", addresses.isEmpty ? "none known" : addresses.joined(separator: ", "))
        }
        for ladder in explanation.ladders { lines += [""] + self.ladder(ladder, page) }
        return lines + [""] + self.conclusion(explanation, page)
    }

    private static func ladder(_ ladder: Explanation.Ladder, _ page: Page) -> [String] {
        let title = page.style.paint(ladder.family.title, .strong)
        return [title] + ladder.rungs.flatMap { self.rung($0, page) }
    }

    private static func rung(_ report: RungReport, _ page: Page) -> [String] {
        let headline = self.headline(report)
        var clauses = [headline].compactMap(\.self) + report.evidence
        if clauses.isEmpty, report.status == .notApplicable { clauses = ["not applicable"] }
        return page.rung(
            mark: report.status.mark, color: report.status.color, name: report.rung.rawValue, clauses: clauses)
    }

    private static func conclusion(_ explanation: Explanation, _ page: Page) -> [String] {
        var lines: [String]
        if let failure = explanation.firstFailure {
            let isShared = explanation.ladders.allSatisfy { $0.firstFailure?.rung == failure.rung }
            let ladder = isShared ? nil : explanation.ladders.first { $0.firstFailure == failure }
            lines = page.row("fails at", self.text(of: failure, over: ladder?.family), .bad)
        } else if explanation.party == nil {
            lines = page.row("fails at", self.noFailure(explanation), .good)
        } else {
            lines = page.row("fails at", "unknown: not every rung could be checked", .doubtful)
        }
        if let party = explanation.party { lines += page.row("whose", party.description) }
        if !explanation.advice.isEmpty { lines += page.row("advice", explanation.advice) }
        return lines
    }

    private static func text(of failure: RungReport, over family: AddressFamily?) -> String {
        let place = [failure.rung.rawValue, family.map { "over \($0.title)" }].compactMap(\.self).joined(separator: " ")
        return place + (self.headline(failure).map { ": \($0)" } ?? "")
    }

    private static func headline(_ report: RungReport) -> String? {
        report.reason?.description(ofLink: report.link)
    }

    // Reached over one family: the failure of the other one is shown as well.
    private static func noFailure(_ explanation: Explanation) -> String {
        let failing = explanation.ladders.compactMap { ladder in
            ladder.firstFailure.map { self.text(of: $0, over: ladder.family) }
        }
        let good = explanation.ladders.filter { $0.firstFailure == nil }.map(\.family.title)
        guard !failing.isEmpty, !good.isEmpty else { return "nothing" }
        return (["nothing over \(good.joined(separator: " and "))"] + failing).joined(separator: "; ")
    }

    /// The columns of the page.
    private struct Page {
        let style: TextStyle
        let width: Int
        private static let labelWidth = 9
        private static let markWidth = 3
        // The length of the longest rung name.
        private static let nameWidth = 9

        init(_ style: TextStyle) {
            self.style = style
            self.width = min(max(style.width, 40), ExplanationText.maxWidth)
        }

        func row(_ label: String, _ text: String, _ color: TextColor? = nil) -> [String] {
            let indent = Page.labelWidth + 2
            let wrapped = LineWrapper.lines(text, to: self.width - indent)
            return wrapped.enumerated().map { position, line in
                guard !line.isEmpty else { return self.style.paint(label, .faint) }
                let start = position == 0 ? Page.padded(label, to: indent) : String(repeating: " ", count: indent)
                return self.style.paint(start, position == 0 ? .faint : nil) + self.style.paint(line, color)
            }
        }

        func rung(mark: String, color: TextColor, name: String, clauses: [String]) -> [String] {
            let indent = 2 + Page.markWidth + 2 + Page.nameWidth + 2
            let painted = self.style.paint(mark, color) + Page.padded("", to: Page.markWidth + 2 - mark.count)
            let visible = clauses.filter { !$0.allSatisfy(\.isWhitespace) }
            guard !visible.isEmpty else { return ["  \(painted)\(name)"] }
            let start = "  \(painted)\(Page.padded(name, to: Page.nameWidth + 2))"
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
}

extension RungReport.Status {
    /// The mark before a rung.
    fileprivate var mark: String {
        switch self {
        case .ok: "ok"
        case .bad: "bad"
        case .unknown: "?"
        case .notApplicable: "-"
        }
    }

    fileprivate var color: TextColor {
        switch self {
        case .ok: .good
        case .bad: .bad
        case .unknown: .doubtful
        case .notApplicable: .faint
        }
    }
}

extension AddressFamily {
    /// The family's name in text.
    fileprivate var title: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }
}
