internal import FoundationEssentials
internal import TidegateServer
internal import TidegateDaemon

/// The text of `tasks watch`.
struct WatchText {
    /// The last tenth of its progress that was shown for each task.
    private var tenths: [String: Int] = [:]

    /// The lines for an event of the stream; none if it is not shown.
    mutating func lines(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) { return TaskText.list(snapshot.tasks, style) }
        if let gap = try? decoder.decode(Gap.self, from: data) {
            return ["\(gap.count) events were lost; run tasks list for the current state"]
        }
        guard let event = try? decoder.decode(WatchEvent.self, from: data), let text = self.text(event) else {
            return []
        }
        return ["\(event.time)  \(event.task)  \(text)".escapingControls]
    }

    private mutating func text(_ event: WatchEvent) -> String? {
        switch event.event {
        case "task.created": return "accepted: \(event.method ?? "") \(event.url ?? "")"
        case "task.resumed": return "resumed"
        case "task.suspended": return "suspended by the \(event.reason ?? "user")"
        // The retry line announces the backoff.
        case "task.held" where event.reason == "backoff": return nil
        case "task.held": return "waiting(\(event.reason ?? ""))\(event.detail.map { ": \($0)" } ?? "")"
        case "task.attemptStarted": return "attempt \(event.attempt ?? 1)"
        case "task.attemptFailed": return "attempt \(event.attempt ?? 1) failed: \(event.reason ?? "")"
        case "task.retryScheduled":
            let delay = event.delaySeconds.map { DurationText(.seconds($0)).description } ?? "a moment"
            return "retry in \(delay): \(event.reason ?? "")"
        case "task.retriesExhausted": return "retries exhausted: \(event.reason ?? "")"
        case "task.restarted":
            return "restarting: \(ByteText(event.discardedBytes ?? 0)) could not be resumed"
        case "task.progress": return self.progress(event)
        case "task.moveFailed": return "cannot commit the download to \(event.file ?? "")"
        case "task.completed":
            self.tenths[event.task] = nil
            return self.end(event)
        // Gate results, response heads and successful attempts are left to --json.
        default: return nil
        }
    }

    private mutating func progress(_ event: WatchEvent) -> String? {
        guard let fraction = event.fraction else { return nil }
        let tenth = Int(fraction * 10)
        guard self.tenths[event.task] != tenth else { return nil }
        self.tenths[event.task] = tenth
        return "\(Int(fraction * 100)) % of \(ByteText(event.expectedBytes ?? 0))"
    }

    private func end(_ event: WatchEvent) -> String {
        let outcome = event.outcome ?? "completed"
        guard outcome == "failure" else { return outcome + (event.file.map { ": \($0)" } ?? "") }
        return "failure(\(event.reason ?? ""))\(event.explanation.map { ": \($0)" } ?? "")"
    }

    private struct Snapshot: Decodable {
        let tasks: [ListedTask]
    }

    private struct Gap: Decodable {
        let count: Int
    }

    private struct WatchEvent: Decodable {
        let event: String
        let time: String
        let task: String
        let method: String?
        let url: String?
        let reason: String?
        let detail: String?
        let attempt: Int?
        let delaySeconds: Double?
        let discardedBytes: Int64?
        let fraction: Double?
        let expectedBytes: Int64?
        let outcome: String?
        let file: String?
        let explanation: String?
    }
}
