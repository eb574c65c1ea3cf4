internal import TidegateCore

/// The rate at which a byte count grows, over the last few seconds.
struct RateMeter: Sendable {
    private struct Sample {
        let moment: MonotonicTime
        let bytes: Int64
    }

    private var samples: [Sample] = []
    private let window: Duration

    init(window: Duration = .seconds(5)) { self.window = window }

    /// Adds a count; a smaller one than before (of a new attempt) restarts the measurement.
    mutating func add(_ bytes: Int64, at moment: MonotonicTime) {
        if let last = self.samples.last, bytes < last.bytes { self.samples = [] }
        self.samples.append(Sample(moment: moment, bytes: bytes))
        // One sample from before the window is kept, so that the window is always covered.
        while self.samples.count > 2, moment - self.samples[1].moment >= self.window { self.samples.removeFirst() }
    }

    /// Restarts the measurement, after a pause.
    mutating func reset() { self.samples = [] }

    /// Bytes per second; nil until there are samples over a quarter of a second.
    var rate: Double? {
        guard let first = self.samples.first, let last = self.samples.last else { return nil }
        let seconds = (last.moment - first.moment).inSeconds
        return seconds >= 0.25 ? Double(last.bytes - first.bytes) / seconds : nil
    }
}
