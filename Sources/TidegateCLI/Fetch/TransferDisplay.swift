internal import Tidegate

/// One transfer of `fetch`, and what its lines and its bar show beyond the present state.
struct TransferDisplay {
    let task: TransferTask
    let label: String
    /// Nil until the transfer has ended.
    private(set) var result: TaskResult?
    private var meter = RateMeter()
    private var retryAt: MonotonicTime?
    private var waited: Duration?
    /// The last attempt for which "resuming at" was printed.
    private var lastReportedResumption = 0
    /// The progress at the end of the last attempt.
    private var lastProgress = TransferProgress()

    init(task: TransferTask, label: String) {
        self.task = task
        self.label = label
    }

    /// Keeps the result; returns the last line.
    mutating func finish(_ result: TaskResult) -> String {
        self.result = result
        return FetchText.summary(result, label: self.label)
    }

    /// The line for an event; nil if nothing is printed, as after the last line.
    mutating func line(for event: TaskEvent.Kind, at moment: MonotonicTime) -> String? {
        guard self.result == nil else { return nil }
        let waited = self.record(event, at: moment)
        guard let line = FetchText.line(event, label: self.label, waited: waited) else { return nil }
        if case .progress(let progress, _) = event {
            guard self.lastReportedResumption != progress.attempt else { return nil }
            self.lastReportedResumption = progress.attempt
        }
        return line
    }

    // Returns how long an attempt that starts now has waited for a path. Only then: after a release the transfer may
    // also end without another attempt.
    private mutating func record(_ event: TaskEvent.Kind, at moment: MonotonicTime) -> Duration? {
        switch event {
        case .retryScheduled(_, let delay): self.retryAt = moment + delay
        case .released(let reason, let after) where reason == .path || reason == .constraint:
            self.waited = (self.waited ?? .zero) + after
        case .attemptStarted:
            defer { self.waited = nil }
            return self.waited
        case .created, .resumed, .suspended, .held, .released, .gate, .responseHead, .progress, .attemptFailed,
            .attemptSucceeded, .retriesExhausted, .restarted, .refetched, .moved, .moveFailed, .completed:
            break
        }
        return nil
    }

    /// The bar of the transfer in its present state.
    mutating func bar(_ info: TaskInfo, at now: MonotonicTime) -> ProgressLine {
        var info = info
        if case .running = info.state {
            // Until its first bytes arrive an attempt reports no offset.
            if info.progress.offset + info.progress.receivedWire == 0 { info.progress = self.lastProgress }
            self.meter.add(info.progress.offset + info.progress.receivedWire + info.progress.sent, at: now)
        } else {
            self.lastProgress = info.progress
            self.meter.reset()
        }
        return ProgressLine(
            name: self.label, info: info, rate: self.meter.rate, retryIn: self.retryAt.map { $0 - now })
    }
}
