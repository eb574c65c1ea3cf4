internal import Tidegate
internal import TidegateDaemon

/// The lines that `fetch` prints about its transfers.
enum FetchText {
    /// The line for one event of a transfer; nil for events that are not shown.
    ///
    /// `waited` is how long the transfer was held for a path since its last attempt.
    static func line(_ event: TaskEvent.Kind, label: String, waited: Duration? = nil) -> String? {
        switch event {
        case .attemptStarted(let number):
            if let waited { return "\(label): continuing after \(DurationText(waited))" }
            return number == 1 ? "\(label): started" : nil
        // A queued transfer needs no attention, and the retry line announces the backoff.
        case .held(.concurrency, detail: _), .held(.backoff, detail: _), .held(.schedule, detail: _),
            .attemptFailed(_, .cancelled, _, isCharged: _):
            return nil
        case .held, .attemptFailed, .retryScheduled, .restarted: return "\(label): \(event.sentence)"
        case .progress(let progress, _): return self.resumed(label, progress)
        case .created, .resumed, .suspended, .released, .gate, .responseHead, .attemptSucceeded, .retriesExhausted,
            .refetched, .moved, .moveFailed, .completed:
            return nil
        }
    }

    /// The last line of a transfer.
    static func summary(_ result: TaskResult, label: String) -> String {
        switch result.outcome {
        case .success:
            let seconds = result.duration.inSeconds
            let rate = seconds > 0.001 ? ", \(ByteText(Int64(Double(result.bytes) / seconds)))/s" : ""
            let held = result.held[.path].map { $0 > .zero ? ", \(DurationText($0)) of it without a path" : "" } ?? ""
            return "\(label): done: \(ByteText(result.bytes)) in \(DurationText(result.duration))\(held)\(rate)"
        case .cancelled: return "\(label): cancelled"
        case .failure: return "\(label): \(self.failure(result))"
        }
    }

    /// Why a transfer failed, and which party is at fault.
    static func failure(_ result: TaskResult) -> String {
        if result.failure == .gateTimeout { return "gave up: \(self.explanation(result) ?? "no path")" }
        let attempts = result.attempts > 1 ? " after \(result.attempts) attempts" : ""
        let why = self.explanation(result) ?? result.failure.map { $0.clause(status: result.status, nil) } ?? ""
        // The deadline is the user's own: no party is at fault.
        guard let attribution = result.attribution, result.failure != .deadlineExceeded else {
            return "failed\(attempts): \(why)"
        }
        guard let evidence = attribution.evidence.first, attribution.rung != nil, attribution.party != .unknown,
            !why.contains(evidence)
        else { return "failed\(attempts): \(why) (\(attribution.party))" }
        // Of names and connections libcurl's own text says no more than the evidence.
        let detail = [.dns, .tcp].contains(attribution.rung) ? "" : ": \(why)"
        return "failed\(attempts): \(evidence) (\(attribution.party))\(detail)"
    }

    /// The last line before exit status 75: the first rung that is not met, and why.
    static func gaveUp(_ result: TaskResult) -> String {
        let rung = result.attribution?.rung.map { "\($0.rawValue): " } ?? ""
        let unmet = result.requireUnmet.map { $0 == .routed ? "" : " (\($0) was required)" } ?? ""
        let why = self.explanation(result) ?? result.attribution?.evidence.first ?? "no path"
        return "gave up waiting for a path: \(rung)\(why)\(unmet)"
    }

    // The explanation repeats the URL and the number of attempts, which the line already has.
    private static func explanation(_ result: TaskResult) -> String? {
        guard var text = result.explanation else { return nil }
        for prefix in ["\(result.url): ", "\(URLRedaction().text(of: result.url)): ", "no path: "]
        where text.hasPrefix(prefix) {
            text.removeFirst(prefix.count)
        }
        let suffix = ", after \(result.attempts) attempts"
        if text.hasSuffix(suffix) { text.removeLast(suffix.count) }
        return text
    }

    private static func resumed(_ label: String, _ progress: TransferProgress) -> String? {
        guard progress.offset > 0 else { return nil }
        let share = progress.expected.map { Double(progress.offset) / Double(max(1, $0)) }
        let percent = share.map { "\(Int($0 * 100)) %" } ?? ByteText(progress.offset).description
        return "\(label): resuming at \(percent)"
    }
}
