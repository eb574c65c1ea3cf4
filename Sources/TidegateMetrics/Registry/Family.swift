internal import Synchronization
internal import TidegateCore

/// One series, or the series set of one histogram.
protocol MetricChild: AnyObject, Sendable {
    init(_ definition: MetricDefinition, values: [String])
    func write(to output: inout ExpositionWriter)
}

/// A metric with all its series.
protocol Family: Sendable {
    var definition: MetricDefinition { get }
    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs)
}

/// A metric whose labels have few values, so that all children exist from the start.
///
/// Finding a child needs neither a hash nor a lock.
final class FixedLabelFamily<Key: LabelKey & CaseIterable, Child: MetricChild>: Family {
    let definition: MetricDefinition
    private let keys = Array(Key.allCases)
    private let children: [Child]

    init(_ definition: MetricDefinition) {
        self.definition = definition
        self.children = Key.allCases.map { Child(definition, values: $0.values) }
    }

    subscript(key: Key) -> Child { self.children[self.keys.firstIndex(of: key) ?? 0] }

    /// Visits all children without any search.
    func forEach(_ body: (Key, Child) -> Void) {
        for index in self.keys.indices { body(self.keys[index], self.children[index]) }
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) {
        for child in self.children { child.write(to: &output) }
    }
}

/// A metric whose children are made on first use, or in advance.
final class TableFamily<Key: LabelKey, Child: MetricChild>: Family {
    let definition: MetricDefinition
    private let state = Mutex(State())

    private struct State {
        var children = LastHitCache<Key, Child>()
        // In the order of first use: lines keep their positions between scrapes.
        var inOrder: [(key: Key, child: Child)] = []
    }

    init(_ definition: MetricDefinition, from keys: [Key] = []) {
        self.definition = definition
        for key in keys { _ = self[key] }
    }

    subscript(key: Key) -> Child {
        self.state.withLock { state in
            if let child = state.children.find(key) { return child }
            let child = Child(self.definition, values: key.values)
            state.children.insert(child, for: key)
            state.inOrder.append((key, child))
            return child
        }
    }

    /// Removes the children of things that are no longer measured.
    func removeAll(where isStale: (Key) -> Bool) {
        self.state.withLock { state in
            let remaining = state.inOrder.filter { !isStale($0.key) }
            guard remaining.count < state.inOrder.count else { return }
            state.children = LastHitCache()
            for (key, child) in remaining { state.children.insert(child, for: key) }
            state.inOrder = remaining
        }
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) {
        let children = self.state.withLock { $0.inOrder }
        for (_, child) in children { child.write(to: &output) }
    }
}

/// A metric without labels.
struct SingleFamily<Child: MetricChild>: Family {
    let definition: MetricDefinition
    let series: Child

    init(_ definition: MetricDefinition) {
        self.definition = definition
        self.series = Child(definition, values: [])
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) { self.series.write(to: &output) }
}

/// A metric that is read at each scrape.
final class CollectedFamily: Family {
    let definition: MetricDefinition
    private let collect: @Sendable (ScrapeInputs, inout Samples) -> Void

    init(_ definition: MetricDefinition, collect: @escaping @Sendable (ScrapeInputs, inout Samples) -> Void) {
        self.definition = definition
        self.collect = collect
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) {
        var samples = Samples(definition: self.definition)
        self.collect(inputs, &samples)
        let isCounter = self.definition.kind == .counter
        for (name, value) in samples.lines {
            if isCounter { output.counter(name, value) } else { output.gauge(name, value) }
        }
        for (name, reading) in samples.histograms { output.histogram(name, reading) }
    }
}

/// The samples of one collected metric in one scrape.
struct Samples {
    let definition: MetricDefinition
    fileprivate private(set) var lines: [(name: SeriesName, value: Double)] = []
    fileprivate private(set) var histograms: [(name: HistogramName, reading: HistogramReading)] = []
    fileprivate private(set) var seen: Set<[String]> = []

    /// Adds a sample unless the value is nil; of two samples with the same labels, the first one counts.
    mutating func add(_ values: String..., value: Double?) {
        guard let value, self.isNew(values) else { return }
        self.lines.append((SeriesName(self.definition, values), value))
    }

    mutating func add(_ values: String..., value: (some BinaryInteger)?) {
        guard let value, self.isNew(values) else { return }
        self.lines.append((SeriesName(self.definition, values), Double(value)))
    }

    /// Adds the samples of a histogram counted elsewhere with the definition's buckets.
    mutating func add(_ values: String..., distribution: ConnectionStatistics.Distribution?) {
        guard let distribution, self.isNew(values) else { return }
        let name = HistogramName(self.definition, values: values, bounds: self.definition.bounds)
        let reading = HistogramReading(
            layout: self.definition.layout, counts: distribution.counts, native: nil, sum: distribution.sum,
            exemplars: [])
        self.histograms.append((name, reading))
    }

    private mutating func isNew(_ values: [String]) -> Bool {
        values.count == self.definition.labels.count && self.seen.insert(values).inserted
    }
}

/// Values by key, for lookups that usually repeat the last key: these need no hashing.
struct LastHitCache<Key: Hashable, Value> {
    private var byKey: [Key: Value] = [:]
    // Stored separately, because looking at the key of a pair would copy the pair.
    private var latestKey: Key?
    private var latest: Value?

    mutating func find(_ key: Key) -> Value? {
        if self.latestKey == key { return self.latest }
        guard let value = self.byKey[key] else { return nil }
        (self.latestKey, self.latest) = (key, value)
        return value
    }

    mutating func insert(_ value: Value, for key: Key) {
        self.byKey[key] = value
        (self.latestKey, self.latest) = (key, value)
    }
}
