internal import TidegateCore

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
