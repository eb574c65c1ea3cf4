internal import Synchronization
internal import TidegateCore

/// The families in the order of the exposition; each recorder keeps its families and their children.
final class Registry: Sendable {
    // Every counter was 0 at this time, even if its series was added later.
    private let start: WallTime
    private let state = Mutex(State())

    private struct State {
        var families: [(header: FamilyHeader, family: any Family)] = []
        // Kept between scrapes, so that a scrape only allocates its response.
        var buffer: [UInt8] = []
        // The sample names already in use.
        var names = Catalogue.metricSeries.sampleNames

        mutating func add(_ family: any Family) {
            self.families.append((FamilyHeader(family.definition), family))
            self.names.formUnion(family.definition.sampleNames)
        }

        func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs, _ choice: FamilyChoice) {
            for (header, family) in self.families where choice.includes(family.definition) {
                output.open(header)
                family.write(to: &output, from: inputs)
                output.close()
            }
            let own = Catalogue.metricSeries
            guard choice.includes(own) else { return }
            let count = output.series
            output.open(FamilyHeader(own))
            output.gauge(SeriesName(own, []), Double(count))
            output.close()
        }
    }

    init(start: WallTime) {
        self.start = start
    }

    var families: [any Family] { self.state.withLock { $0.families.map(\.family) } }

    /// Adds families in this order.
    func add(_ families: any Family...) {
        self.state.withLock { state in
            for family in families { state.add(family) }
        }
    }

    /// Adds a family, unless one of its sample names is already used by another family.
    func addingIfFree<Added: Family>(_ family: Added) -> Added? {
        self.state.withLock { state in
            guard state.names.isDisjoint(with: family.definition.sampleNames) else { return nil }
            state.add(family)
            return family
        }
    }

    /// Adds a metric that `collect` reads at each scrape.
    func collect(
        _ definition: MetricDefinition, _ collect: @escaping @Sendable (ScrapeInputs, inout Samples) -> Void
    ) {
        self.add(CollectedFamily(definition, collect: collect))
    }

    /// Adds a family without labels; it has no series while the value is nil.
    func collect<Number: BinaryInteger & SendableMetatype>(
        _ definition: MetricDefinition, value: @escaping @Sendable (ScrapeInputs) -> Number?
    ) {
        self.collect(definition) { inputs, samples in samples.add(value: value(inputs)) }
    }

    /// Adds a family with a series for each key that has a value.
    func collect<Key: MetricLabel, Number: BinaryInteger & SendableMetatype>(
        _ definition: MetricDefinition, by keys: [Key],
        _ value: @escaping @Sendable (ScrapeInputs, Key) -> Number?
    ) {
        self.collect(definition) { inputs, samples in
            for key in keys { samples.add(key.label, value: value(inputs, key)) }
        }
    }

    /// The exposition of the families in `choice`; the last family is the number of preceding samples.
    func exposition(of inputs: ScrapeInputs, in format: ExpositionFormat, choice: FamilyChoice) -> [UInt8] {
        self.state.withLock { state in
            var output = ExpositionWriter(reusing: exchange(&state.buffer, with: []), format: format, start: self.start)
            state.write(to: &output, from: inputs, choice)
            state.buffer = output.finish()
            return state.buffer.copied()
        }
    }

    /// The samples of the text exposition as values, in its order.
    func samples(of inputs: ScrapeInputs) -> [MetricSample] {
        self.state.withLock { state in
            var output = ExpositionWriter.collecting()
            state.write(to: &output, from: inputs, .all)
            return output.taken()
        }
    }
}

extension [UInt8] {
    // A plain assignment would share the storage, and the next scrape could not reuse it.
    fileprivate func copied() -> [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(self.count)
        copy.append(contentsOf: self)
        return copy
    }
}
