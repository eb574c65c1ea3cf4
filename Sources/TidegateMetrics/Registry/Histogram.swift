internal import Synchronization

/// One series set of a histogram.
///
/// Buckets count only their own observations and are summed up while being written; `_count` is that sum, so that it
/// always equals the `+Inf` bucket.
final class Histogram: MetricChild {
    private static let capacity = 20

    private let bounds: [Double]
    // A fixed number of cells keeps them in the object itself; the bounds say how many are in use.
    private let cells: InlineArray<20, Atomic<UInt64>>
    private let sum = AtomicDouble(0)
    private let lines: Lines

    init(_ definition: MetricDefinition, values: [String]) {
        self.bounds = Array(definition.bounds.prefix(Histogram.capacity - 1))
        self.cells = InlineArray { _ in Atomic(0) }
        self.lines = Lines(definition, values: values, bounds: self.bounds)
    }

    /// Counts an observation in seconds or bytes; what is not a number is no observation.
    func observe(_ value: Double) {
        guard !value.isNaN else { return }
        var position = 0
        while position < self.bounds.count, value > self.bounds[position] { position += 1 }
        self.cells[position].wrappingAdd(1, ordering: .relaxed)
        self.sum.add(value)
    }

    func observe(_ duration: Duration) {
        self.observe(max(0, duration.metricSeconds))
    }

    func write(to output: inout Output) {
        var total: UInt64 = 0
        for position in 0...self.bounds.count {
            total += self.cells[position].load(ordering: .relaxed)
            output.sample(self.lines.bucket(position), total)
        }
        output.sample(self.lines.sum, self.sum.value)
        output.sample(self.lines.count, total)
    }

    /// Everything but the numbers, written once; the buckets' beginnings stand in one array behind each other.
    private struct Lines: Sendable {
        private let buckets: [UInt8]
        private let ends: [Int]
        let sum: [UInt8]
        let count: [UInt8]

        init(_ definition: MetricDefinition, values: [String], bounds: [Double]) {
            var (buckets, ends): ([UInt8], [Int]) = ([], [0])
            for bound in bounds + [.infinity] {
                buckets += Escaping.samplePrefix(
                    definition.name + "_bucket", definition.labels + ["le"], values + [NumberText.float(bound)])
                ends.append(buckets.count)
            }
            self.buckets = buckets
            self.ends = ends
            self.sum = Escaping.samplePrefix(definition.name + "_sum", definition.labels, values)
            self.count = Escaping.samplePrefix(definition.name + "_count", definition.labels, values)
        }

        func bucket(_ position: Int) -> ArraySlice<UInt8> {
            self.buckets[self.ends[position]..<self.ends[position + 1]]
        }
    }
}
