internal import TidegateCore

/// What became of a remote's connections in the last five minutes, as columns of ten seconds: failures at the bottom in the
/// colours of their parties, and those that went well above them.
struct OutcomeStrip {
    let history: [RemoteReport.Interval]

    private static let columns = 30
    private static let height = 20

    /// Empty if there is nothing to draw.
    var html: String {
        guard let most = self.history.map(\.total).max(), most > 0 else { return "" }
        let rects = self.history.map { self.column($0, most: most) }.joined()
        return "<svg class=\"strip\" viewBox=\"0 0 150 \(Self.height)\" preserveAspectRatio=\"xMinYMid\" role=\"img\" "
            + "aria-label=\"outcomes in the last five minutes\">"
            + "<rect class=\"grid\" x=\"0\" y=\"\(Self.height - 1)\" width=\"150\" height=\"1\"/>\(rects)</svg>"
    }

    private func column(_ interval: RemoteReport.Interval, most: Int) -> String {
        let age = Int(interval.age.components.seconds / RemoteReport.Interval.length.components.seconds)
        guard age < Self.columns else { return "" }
        // The latest is at the right edge.
        let x = (Self.columns - 1 - age) * 5
        var rects = ""
        var top = Self.height
        for (style, count) in interval.parts {
            // What happened can be seen, however much else did.
            let height = min(top, max(3, count * Self.height / most))
            top -= height
            rects += "<rect class=\"\(style)\" x=\"\(x)\" y=\"\(top)\" width=\"4\" height=\"\(height)\"/>"
        }
        return "<g><title>\(HTML.escaped(interval.title))</title>\(rects)</g>"
    }
}

extension RemoteReport.Interval {
    fileprivate var total: Int { self.succeeded + self.failures.values.reduce(0, +) }

    /// The classes of the page with their counts, from the bottom.
    fileprivate var parts: [(style: String, count: Int)] {
        let failures = FaultParty.allCases.compactMap { party in
            self.failures[party].map { (style: "party-\(party.rawValue)", count: $0) }
        }
        return failures + (self.succeeded > 0 ? [("fine", self.succeeded)] : [])
    }

    /// `20 s ago: 3 went well, 2 failed (the server)`.
    fileprivate var title: String {
        let failures = FaultParty.allCases.compactMap { party in
            self.failures[party].map { "\($0) failed (\(party))" }
        }
        let parts = (self.succeeded > 0 ? ["\(self.succeeded) went well"] : []) + failures
        return (self.age == .zero ? "now" : "\(self.age.shortText) ago") + ": " + parts.joined(separator: ", ")
    }
}
