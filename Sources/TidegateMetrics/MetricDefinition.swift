/// A metric as the exposition describes it.
package struct MetricDefinition: Sendable {
    /// The kinds of metrics in use.
    package enum Kind: Sendable, Equatable {
        case counter, gauge
        /// Ascending upper bounds; the unbounded last bucket is implied.
        case histogram([Double])
    }

    /// Base units only; the family's name ends in its unit.
    package enum Unit: String, Sendable {
        case none = ""
        case seconds, bytes
    }

    /// The name in queries: counters end in `_total`.
    package let name: String
    /// One sentence for readers.
    package let help: String
    /// The kind of metric.
    package let kind: Kind
    /// The unit of its values.
    package let unit: Unit
    /// The label names in the order of the exposition.
    package private(set) var labels: [String]
    /// True if its series have exemplars, which name a task.
    var hasExemplars = false
    /// How a histogram counts observations; all its series share it.
    let layout: HistogramLayout

    private static let noLayout = HistogramLayout(bounds: [])

    init(name: String, help: String, kind: Kind, unit: Unit, labels: [String]) {
        self.name = name
        self.help = help
        self.kind = kind
        self.unit = unit
        self.labels = labels
        self.layout = if case .histogram(let bounds) = kind { HistogramLayout(bounds: bounds) } else { Self.noLayout }
    }

    /// The family's name, which has no `_total` in OpenMetrics.
    package var family: String {
        self.kind == .counter && self.name.hasSuffix("_total") ? String(self.name.dropLast(6)) : self.name
    }

    /// The type's name and its number in io.prometheus.client.MetricType.
    var type: (name: String, number: UInt64) {
        switch self.kind {
        case .counter: ("counter", 0)
        case .gauge: ("gauge", 1)
        case .histogram: ("histogram", 4)
        }
    }

    var bounds: [Double] { self.layout.bounds }

    /// Every sample name that the metric can have, in either text format.
    var sampleNames: Set<String> {
        let suffixes = ["", "_total", "_created", "_count", "_sum", "_bucket", "_info"]
        return Set(suffixes.map { self.family + $0 } + [self.name])
    }

    /// The same metric with other labels.
    func labelled(by labels: [String]) -> MetricDefinition {
        var copy = self
        copy.labels = labels
        return copy
    }

    /// The same metric with exemplars.
    func withExemplars() -> MetricDefinition {
        var copy = self
        copy.hasExemplars = true
        return copy
    }
}
