internal import Synchronization

/// One series of a counter; whole steps take the fast path, fractions the slow one.
final class Counter: MetricChild {
    private let name: SeriesName
    private let whole = Atomic<UInt64>(0)
    private let fractional = AtomicDouble(0)
    private let exemplars: ExemplarSlots?

    init(_ definition: MetricDefinition, values: [String]) {
        self.name = SeriesName(definition, values)
        self.exemplars = definition.hasExemplars ? ExemplarSlots(count: 1) : nil
    }

    /// Adds `steps`.
    func add(_ steps: UInt64 = 1) {
        self.whole.wrappingAdd(steps, ordering: .relaxed)
    }

    /// Adds one, with an exemplar.
    func add(from source: @autoclosure () -> Exemplar.Source) {
        self.add()
        self.exemplars?.offer(source(), 1, at: 0)
    }

    /// Adds `steps`; ignores a negative number.
    func add(_ steps: some BinaryInteger) {
        self.add(UInt64(clamping: steps))
    }

    /// Adds a duration in seconds; ignores a negative one.
    func add(_ duration: Duration) { self.add(fraction: duration.metricSeconds) }

    /// Adds a fraction or a multiple of one; ignores values that are not positive numbers.
    func add(fraction: Double) {
        if fraction > 0, fraction.isFinite { self.fractional.add(fraction) }
    }

    /// Restarts at 0, which every reader treats as a restart.
    func reset() {
        self.whole.store(0, ordering: .relaxed)
        self.fractional.set(0)
    }

    func write(to output: inout ExpositionWriter) {
        let whole = self.whole.load(ordering: .relaxed)
        let fraction = self.fractional.value
        let exemplar = output.format.hasExemplars ? self.exemplars?.take().first ?? nil : nil
        if fraction == 0 {
            output.counter(self.name, whole, exemplar: exemplar)
        } else {
            output.counter(self.name, Double(whole) + fraction, exemplar: exemplar)
        }
    }
}

/// A floating-point number that several threads add to.
struct AtomicDouble: ~Copyable, Sendable {
    private let bits: Atomic<UInt64>

    init(_ value: Double) {
        self.bits = Atomic(value.bitPattern)
    }

    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }

    func set(_ value: Double) {
        self.bits.store(value.bitPattern, ordering: .relaxed)
    }

    /// Sets `value` unless another thread has replaced `expected` in the meantime.
    func replace(_ expected: Double, by value: Double) {
        _ = self.bits.compareExchange(
            expected: expected.bitPattern, desired: value.bitPattern, ordering: .relaxed)
    }

    func add(_ step: Double) {
        var current = self.bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: current) + step).bitPattern
            let result = self.bits.weakCompareExchange(expected: current, desired: next, ordering: .relaxed)
            if result.exchanged { return }
            current = result.original
        }
    }
}

extension Duration {
    // Up to nine seconds of attoseconds fit in 64 bits; 128-bit conversions and divisions cost ten times as much.
    var metricSeconds: Double {
        if let few = Int64(exactly: self.attoseconds) { return Double(few) / 1e18 }
        return self / .seconds(1)
    }
}

/// One series of a gauge that events set; omitted before the first value.
final class Gauge: MetricChild {
    private let name: SeriesName
    private let current = AtomicDouble(.nan)

    init(_ definition: MetricDefinition, values: [String]) {
        self.name = SeriesName(definition, values)
    }

    func set(_ value: Double) {
        self.current.set(value)
    }

    /// Changes the value; an unset gauge starts at 0.
    func add(_ step: Double) {
        if self.current.value.isNaN { self.current.replace(Double.nan, by: 0) }
        self.current.add(step)
    }

    func write(to output: inout ExpositionWriter) {
        let value = self.current.value
        if !value.isNaN { output.gauge(self.name, value) }
    }
}
