internal import Synchronization

/// One series set of a histogram, with both classic and native buckets.
///
/// Cells count only their own observations and are added up while they are written. `_count` is their sum, so that it
/// always equals the `+Inf` bucket.
final class Histogram: MetricChild {
    private let layout: HistogramLayout
    // A fixed number of cells is stored in the object itself.
    private let cells: InlineArray<272, Atomic<UInt64>>
    private let sum = AtomicDouble(0)
    private let name: HistogramName
    private let exemplars: ExemplarSlots?

    init(_ definition: MetricDefinition, values: [String]) {
        let layout = definition.layout
        self.layout = layout
        self.cells = InlineArray { _ in Atomic(0) }
        self.name = HistogramName(definition, values: values, bounds: layout.bounds)
        self.exemplars = definition.hasExemplars ? ExemplarSlots(count: layout.bounds.count + 1) : nil
    }

    /// Counts an observation in seconds or bytes; ignores NaN.
    func observe(_ value: Double, from source: @autoclosure () -> Exemplar.Source? = nil) {
        guard !value.isNaN else { return }
        let cell = self.layout.cell(of: value)
        self.cells[cell].wrappingAdd(1, ordering: .relaxed)
        self.sum.add(value)
        guard let exemplars = self.exemplars, value.isFinite, let source = source() else { return }
        exemplars.offer(source, value, at: Int(self.layout.classic[cell]))
    }

    func observe(_ duration: Duration, from source: @autoclosure () -> Exemplar.Source? = nil) {
        self.observe(max(0, duration.metricSeconds), from: source())
    }

    func write(to output: inout ExpositionWriter) {
        output.histogram(self.name, self.reading(withExemplars: output.format.hasExemplars))
    }

    private func reading(withExemplars: Bool) -> HistogramReading {
        var counts = [UInt64](repeating: 0, count: self.layout.bounds.count + 1)
        var native: [(bucket: Int, count: UInt64)] = []
        for cell in 0..<self.layout.ends.count {
            let count = self.cells[cell].load(ordering: .relaxed)
            guard count > 0 else { continue }
            counts[Int(self.layout.classic[cell])] += count
            let bucket = Int(self.layout.native[cell])
            if native.last?.bucket == bucket {
                native[native.count - 1].count += count
            } else {
                native.append((bucket, count))
            }
        }
        return HistogramReading(
            layout: self.layout, counts: counts, native: native, sum: self.sum.value,
            exemplars: withExemplars ? self.exemplars?.take() ?? [] : [])
    }
}

/// The exemplars of one series, one for each bucket.
///
/// A scrape removes none; it only allows newer ones. Between two scrapes a slot is filled once, so that recording
/// otherwise costs one atomic load.
final class ExemplarSlots: Sendable {
    private let wanted: Atomic<UInt32>
    private let all: UInt32
    private let slots: Mutex<[Exemplar?]>

    /// Places for at most 32 buckets.
    init(count: Int) {
        let places = min(max(1, count), 32)
        self.all = places == 32 ? .max : 1 << UInt32(places) - 1
        self.wanted = Atomic(self.all)
        self.slots = Mutex(Array(repeating: nil, count: places))
    }

    /// Keeps the source of `value` if its slot still accepts one.
    func offer(_ source: Exemplar.Source, _ value: Double, at place: Int) {
        let bit: UInt32 = 1 << UInt32(truncatingIfNeeded: place)
        guard self.wanted.load(ordering: .relaxed) & bit != 0 else { return }
        let before = self.wanted.bitwiseAnd(~bit, ordering: .relaxed).oldValue
        guard before & bit != 0 else { return }
        self.slots.withLock { slots in
            guard slots.indices.contains(place) else { return }
            slots[place] = Exemplar(source: source, value: value)
        }
    }

    /// The current exemplars by slot; afterwards the slots accept newer ones.
    func take() -> [Exemplar?] {
        self.wanted.store(self.all, ordering: .relaxed)
        return self.slots.withLock { $0 }
    }
}
