/// One series of a gauge that events set; not written before the first value.
final class Gauge: MetricChild {
    private let prefix: [UInt8]
    private let current = AtomicDouble(.nan)

    init(_ definition: MetricDefinition, values: [String]) {
        self.prefix = Escaping.samplePrefix(definition.name, definition.labels, values)
    }

    func set(_ value: Double) {
        self.current.set(value)
    }

    func write(to output: inout Output) {
        let value = self.current.value
        if !value.isNaN { output.sample(self.prefix, value) }
    }
}
