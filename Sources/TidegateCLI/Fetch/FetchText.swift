internal import Tidegate

/// The lines that `fetch` prints about its transfers.
enum FetchText {
    /// A clause about an event of a transfer; nil for events that are not shown.
    ///
    /// `waited` is how long the transfer was held for a path since its last attempt.
    static func clause(_ event: TaskEvent.Kind, waited: Duration? = nil) -> String? {
        switch event {
        case .attemptStarted(let number):
            if let waited { return "continuing after \(waited.shortText)" }
            return number == 1 ? "started" : nil
        // A queued transfer needs no attention, and the retry line already announces the backoff.
        case .held(.concurrency, detail: _), .held(.backoff, detail: _), .held(.schedule, detail: _),
            .attemptFailed(_, .cancelled, _, isCharged: _):
            return nil
        case .held, .attemptFailed, .retryScheduled, .restarted: return event.sentence
        case .progress(let progress, _): return self.resumed(progress)
        default: return nil
        }
    }

    /// The last line of a transfer; `kept` is the size that an interrupted download left for another run, and `whole`
    /// that of the response with the bytes that an earlier run had left.
    static func summary(_ result: TaskResult, label: String, kept: Int64? = nil, whole: Int64? = nil) -> String {
        switch result.outcome {
        case .success: return "\(label): \(result.isRevalidated ? "not modified" : self.success(result, whole))"
        case .cancelled: return "\(label): cancelled\(self.remainder(result, kept))"
        case .failure: return "\(label): \(self.failure(result))"
        }
    }

    // The duration excludes the time in the queue, and the rate excludes all waits.
    private static func success(_ result: TaskResult, _ whole: Int64?) -> String {
        if result.kind == .download, result.bytes == 0, let whole, whole > 0 {
            return "already complete, \(ByteText(whole))"
        }
        let duration = max(.zero, result.duration - (result.held[.concurrency] ?? .zero))
        let seconds = (result.activeTime ?? duration).inSeconds
        let rate = seconds > 0.001 ? ", \(ByteText(Int64(Double(result.bytes + result.sentBytes) / seconds)))/s" : ""
        let held = result.held[.path].map { $0 > .zero ? ", \($0.shortText) of it without a path" : "" } ?? ""
        let isResumed = result.kind == .download && result.wireBytes == result.bytes && result.bytes < whole ?? 0
        let volume = isResumed ? "\(ByteText(whole ?? 0)), \(ByteText(result.bytes)) of it now," : result.volume
        return "done: \(volume) in \(duration.shortText)\(held)\(rate)"
    }

    private static func remainder(_ result: TaskResult, _ kept: Int64?) -> String {
        if let kept { return "; \(ByteText(kept)) kept" }
        // Part of a file had arrived and was discarded.
        return result.kind == .download && result.bytes > 0
            ? "; nothing kept: the server sent no validator for resuming" : ""
    }

    /// Why a transfer failed, and which party is at fault.
    static func failure(_ result: TaskResult) -> String {
        let why = result.clause ?? result.failure.map { $0.clause(status: result.status, nil) } ?? ""
        if result.failure == .gateTimeout {
            let unmet = result.requireUnmet.map { $0 == .routed ? "" : " (\($0) was required)" } ?? ""
            return "gave up waiting for a path: \(why)\(unmet)"
        }
        // The clause may also say why the request is not sent again.
        if let status = result.statusText { return status + why.drop { $0 != "," } }
        let attempts = result.attempts > 1 ? " after \(result.attempts) attempts" : ""
        if result.failure == .deadlineExceeded { return "failed\(attempts): \(why)\(self.silence(result))" }
        guard let attribution = result.attribution else { return "failed\(attempts): \(why)" }
        guard let evidence = self.evidence(attribution), attribution.rung != nil, attribution.party != .unknown,
            !why.contains(evidence)
        else { return "failed\(attempts): \(why) (\(attribution.party))" }
        // For names and connections, libcurl's own text adds nothing to the evidence.
        let detail = [.dns, .tcp].contains(attribution.rung) ? "" : ": \(why)"
        return "failed\(attempts): \(evidence) (\(attribution.party))\(detail)"
    }

    // The user set the deadline, so no party is at fault; the output still names the party that was silent until then.
    private static func silence(_ result: TaskResult) -> String {
        guard result.status == nil, let attribution = result.attribution, attribution.party != .unknown,
            let evidence = self.evidence(attribution)
        else { return "" }
        return "; \(evidence) (\(attribution.party))"
    }

    // The evidence, and for a silence also what explains it.
    private static func evidence(_ attribution: Attribution) -> String? {
        guard let first = attribution.evidence.first else { return nil }
        let second = attribution.evidence.dropFirst().first
        return attribution.silence != nil && second == attribution.cause?.description
            ? second.map { "\(first): \($0)" } : first
    }

    /// What took at least half of an attempt; nil for a quick one, and if no part took so much.
    static func largestShare(of summary: AttemptSummary) -> String? {
        let (phases, total) = (summary.phases, summary.duration)
        let (way, sending) = (phases.connect ?? .zero, phases.sending ?? .zero)
        let server = (phases.processing ?? .zero) - sending - way
        func rate(_ bytes: Int64, _ time: Duration) -> String {
            "\(ByteText(bytes)) at \(ByteText(Int64(Double(bytes) / max(0.001, time.inSeconds))))/s"
        }
        let transfer = phases.transfer ?? .zero
        let parts: [(time: Duration, what: String)] = [
            (phases.resolve ?? .zero, "finding the address"), (way, "connecting"),
            (phases.tls ?? .zero, "the TLS handshake"), (sending, "sending \(rate(summary.sent, sending))"),
            (server, "waiting for the server" + (way > .zero ? "; connecting took \(way.shortText)" : "")),
            (transfer, "receiving \(rate(summary.receivedWire, transfer))"),
        ]
        guard total >= .milliseconds(300), let most = parts.max(by: { $0.time < $1.time }), most.time >= total / 2
        else { return nil }
        return "\(most.time.shortText) of \(total.shortText) went into \(most.what)"
    }

    private static func resumed(_ progress: TransferProgress) -> String? {
        guard progress.offset > 0 else { return nil }
        let share = progress.expected.map { Double(progress.offset) / Double(max(1, $0)) }
        let percent = share.map { "\(Int($0 * 100)) %" } ?? ByteText(progress.offset).description
        return "resuming at \(percent)"
    }
}

/// The exchanges that `fetch -v` prints as they happen, as curl(1) does: `*` notes, `>` sent, `<` received.
struct ExchangeText {
    private(set) var shown: [TaskID: (number: Int, count: Int)] = [:]
    let showsSecrets: Bool

    /// The lines of a task that have not been returned yet.
    mutating func newLines(of exchanges: [Exchange], _ task: TaskID) -> [String] {
        var texts: [String] = []
        for exchange in exchanges {
            let known = self.shown[task] ?? (0, 0)
            guard exchange.number >= known.number else { continue }
            let lines = self.showsSecrets ? exchange.lines : exchange.redactedLines
            texts += lines.dropFirst(exchange.number == known.number ? known.count : 0).map(Self.text)
            self.shown[task] = (exchange.number, lines.count)
        }
        return texts
    }

    /// Forgets a finished task.
    mutating func forget(_ task: TaskID) { self.shown[task] = nil }

    private static func text(_ line: Exchange.Line) -> String {
        // The sequences of our own colors would pass the terminal.
        let text = line.text.escapingControls
        return switch line.kind {
        case .note: "* \(text)"
        case .sent: "> \(text)"
        case .received: "< \(text)"
        }
    }
}
