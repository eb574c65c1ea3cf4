/// One series of a gauge that events set; not written before the first value.
final class Gauge: MetricChild {
    private let name: SeriesName
    private let current = AtomicDouble(.nan)

    init(_ definition: MetricDefinition, values: [String]) {
        self.name = SeriesName(definition, values)
    }

    func set(_ value: Double) {
        self.current.set(value)
    }

    /// Moves the value; a gauge that was never set begins at 0.
    func add(_ step: Double) {
        if self.current.value.isNaN { self.current.replace(Double.nan, by: 0) }
        self.current.add(step)
    }

    func write(to output: inout ExpositionWriter) {
        let value = self.current.value
        if !value.isNaN { output.gauge(self.name, value) }
    }
}
