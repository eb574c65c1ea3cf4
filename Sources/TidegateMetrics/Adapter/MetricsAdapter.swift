package import CoreMetrics
internal import Synchronization

/// Adds a program's swift-metrics to the same exposition.
///
/// It never traps. A metric whose name or kind clashes with another's gets a handler that does nothing. The clash is
/// counted in `tidegate_metric_conflicts_total`, and reported once for each name.
package final class MetricsAdapter: MetricsFactory {
    /// The maximum number of series of a metric; further ones are counted together under `_other`.
    static let maxSeries = 10_000

    private let registry: Registry
    private let conflicts: Counter
    private let overflows: TableFamily<TextLabels, Counter>
    private let onConflict: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var families: [String: any Family] = [:]
        var reported: Set<String> = []
    }

    init(
        _ registry: Registry, conflicts: Counter, overflows: TableFamily<TextLabels, Counter>,
        onConflict: @escaping @Sendable (String) -> Void
    ) {
        self.registry = registry
        self.conflicts = conflicts
        self.overflows = overflows
        self.onConflict = onConflict
    }

    /// A counter named `label` with `_total`; negative steps are ignored.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.counter(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A counter of fractions named `label` with `_total`.
    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.counter(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A gauge.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.gauge(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A histogram, or a gauge with the last value if nothing is aggregated.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return self.gauge(label, dimensions) ?? NOOPMetricsHandler.instance }
        return self.histogram(AdaptedName.plain(label), Buckets.counts, .none, dimensions)
            ?? NOOPMetricsHandler.instance
    }

    /// A histogram of seconds named `label` with `_seconds`.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.histogram(AdaptedName.seconds(label), Buckets.requests, .seconds, dimensions)
            ?? NOOPMetricsHandler.instance
    }

    // Series are never removed: one that disappears and comes back would look like a restart.

    /// Keeps the series.
    package func destroyCounter(_ handler: any CounterHandler) {}

    /// Keeps the series.
    package func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Keeps the series.
    package func destroyTimer(_ handler: any TimerHandler) {}

    // MARK: Families

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> Counter? {
        self.child(.adapted(AdaptedName.total(label), .counter, .none), dimensions)
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Gauge? {
        self.child(.adapted(AdaptedName.plain(label), .gauge, .none), dimensions)
    }

    private func histogram(
        _ name: String, _ bounds: [Double], _ unit: MetricDefinition.Unit, _ dimensions: [(String, String)]
    ) -> Histogram? {
        self.child(.adapted(name, .histogram(bounds), unit), dimensions)
    }

    private func child<Child: MetricChild>(
        _ definition: MetricDefinition, _ dimensions: [(String, String)]
    ) -> Child? {
        guard let family: OpenFamily<Child> = self.family(definition) else {
            self.conflict(definition.name)
            return nil
        }
        let found = family.child(AdaptedName.labels(dimensions), limit: MetricsAdapter.maxSeries)
        if found.isOverflow { self.overflows[TextLabels(definition.name, "_any")].add() }
        return found.child
    }

    private func family<Child: MetricChild>(_ definition: MetricDefinition) -> OpenFamily<Child>? {
        self.state.withLock { state in
            if let known = state.families[definition.name] { return known as? OpenFamily<Child> }
            guard let family = self.registry.addingIfFree(OpenFamily<Child>(definition)) else { return nil }
            state.families[definition.name] = family
            return family
        }
    }

    private func conflict(_ name: String) {
        self.conflicts.add()
        let isFirst = self.state.withLock { $0.reported.count < 1000 && $0.reported.insert(name).inserted }
        if isFirst { self.onConflict("the metric \(name) clashes with another one and is not exposed") }
    }
}

/// A metric of the embedding program, whose series may have different labels.
final class OpenFamily<Child: MetricChild>: Family {
    let definition: MetricDefinition
    private let state = Mutex(State())

    private struct State {
        var byLabels: [[MetricSample.Label]: Child] = [:]
        var inOrder: [Child] = []
    }

    init(_ definition: MetricDefinition) {
        self.definition = definition
    }

    /// The series with `labels`; beyond `limit` series, the one in which all values are `_other`.
    func child(_ labels: [MetricSample.Label], limit: Int) -> (child: Child, isOverflow: Bool) {
        self.state.withLock { state in
            if let known = state.byLabels[labels] { return (known, false) }
            guard state.inOrder.count >= limit else { return (self.make(labels, &state), false) }
            let others = labels.map { MetricSample.Label($0.name, "_other") }
            return (state.byLabels[others] ?? self.make(others, &state), true)
        }
    }

    private func make(_ labels: [MetricSample.Label], _ state: inout State) -> Child {
        let child = Child(self.definition.labelled(by: labels.map(\.name)), values: labels.map(\.value))
        state.byLabels[labels] = child
        state.inOrder.append(child)
        return child
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) {
        for child in self.state.withLock({ $0.inOrder }) { child.write(to: &output) }
    }
}

// A series is also the handler: a separate handler would add an indirection to each step.
extension Counter: CounterHandler, FloatingPointCounterHandler {
    func increment(by steps: Int64) { self.add(steps) }

    func increment(by steps: Double) { self.add(fraction: steps) }
}

extension Gauge: MeterHandler, RecorderHandler {
    func set(_ value: Int64) { self.set(Double(value)) }

    func increment(by step: Double) { self.add(step) }

    func decrement(by step: Double) { self.add(-step) }

    func record(_ value: Int64) { self.set(value) }

    func record(_ value: Double) { self.set(value) }
}

extension Histogram: RecorderHandler, TimerHandler {
    func record(_ value: Int64) { self.observe(Double(value)) }

    func record(_ value: Double) { self.observe(value) }

    func recordNanoseconds(_ duration: Int64) { self.observe(Double(max(0, duration)) / 1e9) }
}

/// Converts names allowed by swift-metrics into names allowed by Prometheus.
enum AdaptedName {
    /// The maximum length of a label value, in bytes; longer ones are cut.
    static let maxValueBytes = 1024

    static func plain(_ label: String) -> String {
        // These endings would make a metric look like part of another one.
        let name = self.cleaned(label, colons: true)
        for ending in ["_total", "_created", "_count", "_sum", "_bucket", "_info"] where name.hasSuffix(ending) {
            return String(name.dropLast(ending.count)) + "_value"
        }
        return name
    }

    static func total(_ label: String) -> String {
        let name = self.cleaned(label, colons: true)
        return (name.hasSuffix("_total") ? self.plain(String(name.dropLast(6))) : self.plain(name)) + "_total"
    }

    static func seconds(_ label: String) -> String {
        let name = self.plain(label)
        return name.hasSuffix("_seconds") ? name : name + "_seconds"
    }

    /// The labels sorted by name; of two labels with the same name the last one counts.
    static func labels(_ dimensions: [(String, String)]) -> [MetricSample.Label] {
        var values: [String: String] = [:]
        for (name, value) in dimensions { values[self.labelName(name)] = self.bounded(value) }
        return values.sorted { $0.key < $1.key }.map { MetricSample.Label($0.key, $0.value) }
    }

    // The format reserves `le` and `quantile`, and Prometheus reserves names with two leading underscores.
    private static func labelName(_ name: String) -> String {
        let name = self.cleaned(name, colons: false)
        return ["le", "quantile"].contains(name) || name.hasPrefix("__") ? "exported_" + name : name
    }

    private static func bounded(_ value: String) -> String {
        guard value.utf8.count > self.maxValueBytes else { return value }
        return String(decoding: value.utf8.prefix(self.maxValueBytes), as: UTF8.self)
    }

    private static func cleaned(_ text: String, colons: Bool) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": name.unicodeScalars.append(scalar)
            case "0"..."9": name.unicodeScalars.append(contentsOf: name.isEmpty ? ["_", scalar] : [scalar])
            case ":" where colons: name.unicodeScalars.append(scalar)
            default: name.unicodeScalars.append("_")
            }
        }
        return name.isEmpty ? "_" : name
    }
}

extension MetricDefinition {
    /// A metric of the embedding program; swift-metrics provides no help text.
    static func adapted(_ name: String, _ kind: Kind, _ unit: Unit) -> MetricDefinition {
        MetricDefinition(name: name, help: "", kind: kind, unit: unit, labels: [])
    }
}
