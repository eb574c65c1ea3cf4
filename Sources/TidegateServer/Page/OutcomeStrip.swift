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

/// The last checks of a target or a probe as columns: the height is the latency, a failure has the whole height and
/// another colour.
struct LatencyStrip {
    /// One check.
    struct Column {
        let time: WallTime
        /// How high it is; nil for the whole height.
        let latency: Duration?
        /// How it is drawn: `hit`, `miss` or `skip`.
        let style: String
        /// What it says when it is pointed at.
        let title: String
    }

    private static let limit = 40

    /// The oldest first.
    let columns: [Column]
    /// What they are, for those who do not see them: `checks`.
    let noun: String

    var html: String {
        let highest = max(1e-6, self.columns.compactMap { $0.latency?.inSeconds }.max() ?? 0)
        // The latest is at the right edge.
        let first = max(0, Self.limit - self.columns.count)
        let rects = self.columns.enumerated().map { place, column in
            let height = column.latency.map { max(2, Int(($0.inSeconds / highest * 20).rounded())) } ?? 20
            return
                "<rect class=\"\(column.style)\" x=\"\((first + place) * 4)\" y=\"\(20 - height)\" "
                + "width=\"3\" height=\"\(height)\"><title>\(column.time.clockTime) UTC: \(column.title)</title></rect>"
        }
        let latest = self.columns.last?.title ?? ""
        return "<svg class=\"strip\" viewBox=\"0 0 160 20\" role=\"img\" "
            + "aria-label=\"the last \(self.columns.count) \(self.noun)\">" + rects.joined()
            + "</svg> <span class=\"note\">\(latest)</span>"
    }
}
