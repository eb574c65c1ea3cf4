internal import Tidegate

/// The lines and the bar of one transfer of `fetch`, and the history that they need.
struct TransferDisplay {
    let label: String
    private var meter = RateMeter()
    /// True if the rate is that of the request body.
    private var wasSending = false
    private var retryAt: MonotonicTime?
    private var waited: Duration?
    /// The last attempt's failure until its consequence is known: it gets its own line, or is part of the last line.
    private var failure: String?
    /// What the transfer was last shown to wait for; nil while it waits for nothing.
    private var shownWait: String?
    /// The last attempt for which "resuming at" was printed.
    private var lastReportedResumption = 0
    /// The progress at the end of the last attempt.
    private var lastProgress = TransferProgress()

    init(label: String) { self.label = label }

    /// The line for an event; nil if nothing is printed.
    mutating func line(for event: TaskEvent.Kind, at moment: MonotonicTime) -> String? {
        if case .attemptFailed(_, let failure, let attribution, let isCharged) = event {
            let isShown = failure == .cancelled || TaskEvent.isPathLoss(failure, attribution, isCharged: isCharged)
            // What the transfer waits for is more informative than the lost path.
            self.failure = isShown ? nil : event.sentence
            return nil
        }
        let waited = self.record(event, at: moment)
        let own = self.clause(event, waited: waited)
        var parts = [own].compactMap(\.self)
        if let failure, own != nil || self.isNext(event) {
            parts.insert(failure, at: 0)
            self.failure = nil
        }
        return parts.isEmpty ? nil : "\(self.label): \(parts.joined(separator: "; "))"
    }

    // An attempt's failure gets its own line if another attempt follows.
    private func isNext(_ event: TaskEvent.Kind) -> Bool { if case .attemptStarted = event { true } else { false } }

    private mutating func clause(_ event: TaskEvent.Kind, waited: Duration?) -> String? {
        switch event {
        case .held(.path, let detail), .held(.constraint, let detail):
            guard self.shownWait != detail || detail == nil else { return nil }
            self.shownWait = detail
        case .progress(let progress, _):
            guard self.lastReportedResumption != progress.attempt else { return nil }
            self.lastReportedResumption = progress.attempt
        case .attemptStarted: self.shownWait = nil
        default: break
        }
        return FetchText.clause(event, waited: waited)
    }

    /// The line for a path that is lost or back during an attempt; nil if that was already shown.
    mutating func line(showing info: TaskInfo) -> String? {
        guard case .running = info.state, info.stall != self.shownWait else { return nil }
        defer { self.shownWait = info.stall }
        guard let stall = info.stall else { return "\(self.label): the path is back" }
        return "\(self.label): waiting: \(stall)"
    }

    // Returns how long an attempt that starts now has waited for a path. Not returned at the release, because the
    // transfer may end without another attempt.
    private mutating func record(_ event: TaskEvent.Kind, at moment: MonotonicTime) -> Duration? {
        switch event {
        case .retryScheduled(_, let delay): self.retryAt = moment + delay
        case .released(let reason, let after) where reason == .path || reason == .constraint:
            self.waited = (self.waited ?? .zero) + after
        case .attemptStarted: return self.waited.take()
        default: break
        }
        return nil
    }

    /// The bar of the transfer in its current state.
    mutating func bar(_ info: TaskInfo, at now: MonotonicTime, _ spinner: Spinner? = nil) -> ProgressLine {
        var info = info
        if case .running = info.state {
            // An attempt reports no offset until its first bytes arrive.
            if info.progress.sent == 0, info.progress.current.bytes == 0, self.lastProgress.offset > 0 {
                info.progress = self.lastProgress
            }
            let body = info.progress.current
            if body.isSent != self.wasSending { self.meter.reset() }
            self.wasSending = body.isSent
            self.meter.add(body.bytes, at: now)
        } else {
            self.lastProgress = info.progress
            self.meter.reset()
        }
        return ProgressLine(
            name: self.label, info: info, rate: self.meter.rate, retryIn: self.retryAt.map { $0 - now },
            spinner: spinner)
    }
}
