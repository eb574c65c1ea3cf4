internal import CoreMetrics

// A counter is a handler itself: one between them would be one more object to go through at each step.
extension Counter: CounterHandler, FloatingPointCounterHandler {
    func increment(by steps: Int64) { self.add(steps) }

    func increment(by steps: Double) { self.add(fraction: steps) }
}

/// Sets a gauge.
final class GaugeAdapter: MeterHandler, RecorderHandler {
    private let gauge: Gauge

    init(_ gauge: Gauge) {
        self.gauge = gauge
    }

    func set(_ value: Int64) { self.gauge.set(Double(value)) }

    func set(_ value: Double) { self.gauge.set(value) }

    func increment(by step: Double) { self.gauge.add(step) }

    func decrement(by step: Double) { self.gauge.add(-step) }

    func record(_ value: Int64) { self.set(value) }

    func record(_ value: Double) { self.set(value) }
}

/// Observes into a histogram.
final class HistogramAdapter: RecorderHandler, TimerHandler {
    private let histogram: Histogram

    init(_ histogram: Histogram) {
        self.histogram = histogram
    }

    func record(_ value: Int64) { self.histogram.observe(Double(value)) }

    func record(_ value: Double) { self.histogram.observe(value) }

    func recordNanoseconds(_ duration: Int64) { self.histogram.observe(Double(max(0, duration)) / 1e9) }
}

/// Takes everything and does nothing.
final class NoHandler: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    func increment(by steps: Int64) {}
    func increment(by steps: Double) {}
    func decrement(by steps: Double) {}
    func set(_ value: Int64) {}
    func set(_ value: Double) {}
    func record(_ value: Int64) {}
    func record(_ value: Double) {}
    func recordNanoseconds(_ duration: Int64) {}
    func reset() {}
}
