internal import TidegateCore

/// Measures how fast a count grows, over the last few seconds.
struct RateMeter: Sendable {
    private struct Sample {
        let moment: MonotonicTime
        let bytes: Int64
    }

    private var samples: [Sample] = []
    private let window: Duration

    init(window: Duration = .seconds(5)) { self.window = window }

    /// Takes a count; one that fell (another attempt began) starts the measurement again.
    mutating func add(_ bytes: Int64, at moment: MonotonicTime) {
        if let last = self.samples.last, bytes < last.bytes { self.samples = [] }
        self.samples.append(Sample(moment: moment, bytes: bytes))
        // One sample from before the window stays, so that the window is always full.
        while self.samples.count > 2, moment - self.samples[1].moment >= self.window { self.samples.removeFirst() }
    }

    /// Starts again: what was is of no use after a pause.
    mutating func reset() { self.samples = [] }

    /// Bytes a second; nil until a quarter of a second was seen.
    var rate: Double? {
        guard let first = self.samples.first, let last = self.samples.last else { return nil }
        let seconds = (last.moment - first.moment).inSeconds
        return seconds >= 0.25 ? Double(last.bytes - first.bytes) / seconds : nil
    }
}
