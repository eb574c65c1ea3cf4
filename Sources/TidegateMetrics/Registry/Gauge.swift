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

    func write(to output: inout Output) {
        let value = self.current.value
        if !value.isNaN { output.gauge(self.name, value) }
    }
}
