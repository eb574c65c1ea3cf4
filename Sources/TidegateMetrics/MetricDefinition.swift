/// A metric as the exposition describes it.
package struct MetricDefinition: Sendable {
    /// The kinds of metrics in use.
    package enum Kind: Sendable, Equatable {
        case counter, gauge
        /// Upper bounds in ascending order; the bucket for everything beyond them is implied.
        case histogram([Double])
    }

    /// Base units only; the unit is the last part of the family's name.
    package enum Unit: String, Sendable {
        case none = ""
        case seconds, bytes
    }

    /// The name as queries use it: counters end in `_total`.
    package let name: String
    /// One sentence for people.
    package let help: String
    /// The kind of metric.
    package let kind: Kind
    /// The unit of its values.
    package let unit: Unit
    /// The label names, in the order in which they are written.
    package private(set) var labels: [String]
    /// Whether its series have exemplars, which name a task.
    var hasExemplars = false
    /// Where a histogram's observations are counted; one for all its series.
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

    /// The family's name, which OpenMetrics writes without `_total`.
    package var family: String {
        self.kind == .counter && self.name.hasSuffix("_total") ? String(self.name.dropLast(6)) : self.name
    }

    /// The type's name, and its number in io.prometheus.client.MetricType.
    var type: (name: String, number: UInt64) {
        switch self.kind {
        case .counter: ("counter", 0)
        case .gauge: ("gauge", 1)
        case .histogram: ("histogram", 4)
        }
    }

    var bounds: [Double] { self.layout.bounds }

    /// Every name that a sample of it, or of its OpenMetrics twin, may have.
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

    /// The same, with exemplars.
    func withExemplars() -> MetricDefinition {
        var copy = self
        copy.hasExemplars = true
        return copy
    }
}
