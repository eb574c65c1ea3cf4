internal import TidegateCore

/// A spinner that turns a quarter every 100 ms.
struct Spinner: Sendable, Hashable {
    private static let frames: [Character] = ["|", "/", "-", "\\"]

    /// The character to draw.
    let text: Character

    init(at now: MonotonicTime) {
        self.text = Self.frames[Int(now.nanoseconds / 100_000_000 % UInt64(Self.frames.count))]
    }
}

/// The progress line of one transfer: name, percentage, and a bar with the rate or what it waits for.
struct ProgressLine: Sendable {
    var name: String
    var info: TaskInfo
    /// Bytes per second; nil if not known yet.
    var rate: Double?
    /// The remaining time before the next attempt.
    var retryIn: Duration?
    /// Shown while a transfer of unknown length runs; nil for none.
    var spinner: Spinner?

    /// The line, at most as wide as the style.
    func text(_ style: TextStyle) -> String {
        let nameWidth = min(max(12, style.width / 3), 28)
        let name = ProgressLine.fit(self.name, nameWidth)
        let percent = self.percent
        let rest = style.width - nameWidth - 2 - percent.count - 2
        guard rest >= 10 else { return String("\(name)  \(percent)".prefix(style.width)) }
        if let wait = self.waitDescription {
            return "\(name)  \(percent)  \(style.paint(String(wait.prefix(rest)), .doubtful))"
        }
        let numbers = self.numbers
        let barWidth = rest - numbers.count - 2
        guard barWidth >= 8, let bar = self.bar(barWidth) else { return "\(name)  \(percent)  \(numbers.prefix(rest))" }
        return "\(name)  \(percent)  \(bar)  \(numbers)"
    }

    private var percent: String {
        guard let fraction = self.info.progress.current.fraction else {
            guard case .running = self.info.state, let spinner = self.spinner else { return "    " }
            return "   \(spinner.text)"
        }
        return ProgressLine.right("\(Int(fraction * 100))%", 4)
    }

    /// What the transfer waits for; nil while bytes move.
    private var waitDescription: String? {
        switch self.info.state {
        case .suspended: return "suspended"
        case .waiting(let reason, let detail): return self.description(reason, detail)
        case .running:
            if let stall = self.info.stall { return stall }
            let progress = self.info.progress
            guard progress.receivedWire == 0, !progress.isSending || progress.sent == 0 else { return nil }
            if progress.sent > 0 {
                return progress.expected == nil
                    ? "\(ByteText(progress.sent)) sent, waiting for the response" : nil
            }
            guard progress.offset > 0 else { return progress.expected == nil ? "connecting" : nil }
            let percent = progress.fraction.map { "\(Int($0 * 100)) %" } ?? ByteText(progress.offset).description
            return "resuming at \(percent)"
        case .completed(let outcome):
            switch outcome {
            case .success: return nil
            case .failure: return "failed"
            case .cancelled: return "cancelled"
            }
        }
    }

    private func description(_ reason: HoldReason, _ detail: String?) -> String {
        guard reason == .backoff else { return detail ?? reason.description }
        guard let left = self.retryIn else { return detail ?? "retry soon" }
        return "retry in \(max(0, Int(left.inSeconds.rounded(.up)))) s"
    }

    private var numbers: String {
        let body = self.info.progress.current
        let done = "\(ByteText(body.bytes))\(body.isSent ? " sent" : "")"
        if case .completed = self.info.state { return done }
        guard let rate = self.rate else { return done }
        let speed = ProgressLine.right("\(ByteText(Int64(min(rate, 1e18))))/s", 12)
        guard let left = self.secondsLeft(at: rate) else { return "\(done)  \(speed)" }
        return "\(body.isSent ? "sending" : "")\(speed)  ETA \(DurationText(.seconds(left)))"
    }

    /// Nil if the length is unknown, or if the time exceeds 100 days: a server may announce any length.
    private func secondsLeft(at rate: Double) -> Int64? {
        let body = self.info.progress.current
        guard let total = body.total, rate >= 1 else { return nil }
        let left = max(0, Double(total) - Double(body.bytes)) / rate
        return left <= 100 * 86_400 ? Int64(left.rounded(.up)) : nil
    }

    private func bar(_ width: Int) -> String? {
        guard let fraction = self.info.progress.current.fraction else { return nil }
        let inner = width - 2
        let full = min(inner, Int(fraction * Double(inner)))
        let head = full < inner && full > 0 ? ">" : ""
        let body = String(repeating: "=", count: full - head.count) + head
        return "[\(body)\(String(repeating: " ", count: inner - full))]"
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    // A long name keeps its end, which distinguishes files.
    private static func fit(_ text: String, _ width: Int) -> String {
        guard text.count > width else { return text + String(repeating: " ", count: width - text.count) }
        return "…" + text.suffix(width - 1)
    }
}

/// The rate at which a byte count grows, over the last few seconds.
struct RateMeter: Sendable {
    private struct Sample {
        let moment: MonotonicTime
        let bytes: Int64
    }

    private var samples: [Sample] = []
    private let window: Duration

    init(window: Duration = .seconds(5)) { self.window = window }

    /// Adds a count; a count smaller than the last one (from a new attempt) restarts the measurement.
    mutating func add(_ bytes: Int64, at moment: MonotonicTime) {
        if let last = self.samples.last, bytes < last.bytes { self.samples = [] }
        self.samples.append(Sample(moment: moment, bytes: bytes))
        // One sample older than the window is kept, so that the samples always cover the window.
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
