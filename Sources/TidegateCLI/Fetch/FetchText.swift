internal import Tidegate
internal import TidegateDaemon

/// The lines that `fetch` prints about its transfers.
enum FetchText {
    /// The line for one event of a transfer; nil for events that are not shown.
    ///
    /// `waited` is how long the transfer was held for a path since its last attempt.
    static func line(_ change: TaskEvent.Kind, label: String, waited: Duration? = nil) -> String? {
        switch change {
        case .attemptStarted(let number):
            if let waited { return "\(label): continuing after \(DurationText(waited))" }
            return number == 1 ? "\(label): started" : nil
        case .held(let reason, let detail):
            // A queued transfer needs no attention, and the retry line announces the backoff.
            guard reason != .concurrency, reason != .backoff, reason != .schedule else { return nil }
            return "\(label): waiting: \(detail ?? reason.phrase)"
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            if failure == .cancelled { return nil }
            // A local failure, such as a full disk, has no rung.
            guard isCharged || attribution?.rung == nil || !failure.canFollowFromPathLoss else {
                return "\(label): the path was lost"
            }
            return "\(label): attempt \(summary.number) failed: \(self.phrase(failure, summary.status, attribution))"
        case .retryScheduled(_, let delay): return "\(label): retry in \(DurationText(delay))"
        case .progress(let progress, _): return self.resumed(label, progress)
        case .restarted(let discarded):
            return "\(label): restarting: \(ByteText(discarded)) could not be resumed"
        case .created, .resumed, .suspended, .released, .gate, .responseHead, .attemptSucceeded, .retriesExhausted,
            .refetched,
            .moved, .moveFailed, .completed:
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
        let why = self.explanation(result) ?? result.failure.map { self.phrase($0, result.status, nil) } ?? ""
        // The deadline is the user's own: no party is at fault.
        guard let attribution = result.attribution, result.failure != .deadlineExceeded else {
            return "failed\(attempts): \(why)"
        }
        guard let evidence = attribution.evidence.first, attribution.rung != nil, attribution.party != .unknown,
            !why.contains(evidence)
        else { return "failed\(attempts): \(why) (\(attribution.party.phrase))" }
        return "failed\(attempts): \(evidence) (\(attribution.party.phrase)): \(why)"
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

    private static func phrase(_ failure: TaskFailure, _ status: Int?, _ attribution: Attribution?) -> String {
        if let attribution, attribution.rung != nil, let evidence = attribution.evidence.first { return evidence }
        return failure == .httpStatus ? status.map { "\(failure.phrase) (\($0))" } ?? failure.phrase : failure.phrase
    }
}

extension FaultParty {
    /// Whose failure it was, in words.
    var phrase: String {
        switch self {
        case .mine: "this side's fault"
        case .gateway: "the gateway's fault"
        case .upstream: "the upstream network's fault"
        case .resolver: "the resolver's fault"
        case .path: "somebody's fault on the path"
        case .theirs: "their side's fault"
        case .unknown: "nothing tells whose fault"
        }
    }
}

extension TaskFailure {
    /// The failure in a few words.
    var phrase: String {
        switch self {
        case .resolveFailed: "the name gave no address"
        case .connectFailed: "no connection came about"
        case .tlsFailed: "TLS failed"
        case .tlsPinMismatch: "the server's key is not the pinned one"
        case .timedOut: "no answer in time"
        case .stalled: "the transfer stopped moving"
        case .reset: "the connection was reset"
        case .protocolError: "the answer breaks the protocol"
        case .truncated: "the body ended early"
        case .tooLarge: "the body is too large"
        case .httpStatus: "the status says no"
        case .rangeMismatch: "the server's range is not the one asked for"
        case .digestMismatch: "the body is not the expected one"
        case .bodyChanged: "the file to upload changed meanwhile"
        case .outcomeUnknown: "the request may have been carried out, and must not be repeated"
        case .gateTimeout: "no path in time"
        case .deadlineExceeded: "the deadline passed"
        case .retriesExhausted: "every retry was used"
        case .cancelled: "cancelled"
        case .invalidRequest: "the request cannot be made"
        case .fileError: "a file could not be read or written"
        case .diskFull: "the disk is full"
        case .internal: "a defect of tidegate"
        }
    }
}
