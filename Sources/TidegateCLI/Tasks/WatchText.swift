internal import FoundationEssentials
internal import TidegateServer
internal import TidegateDaemon

/// Words the stream of `tasks watch` for people.
struct WatchText {
    /// The last tenth of its way that was told of each task.
    private var tenths: [String: Int] = [:]

    /// What a line of the stream says; nothing where nobody needs to read it.
    mutating func lines(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) { return TaskText.list(snapshot.tasks, style) }
        if let gap = try? decoder.decode(Gap.self, from: data) { return ["\(gap.count) events were lost: look again"] }
        guard let event = try? decoder.decode(WatchEvent.self, from: data), let words = self.words(event) else {
            return []
        }
        return ["\(event.time)  \(event.task)  \(words)".visible]
    }

    private mutating func words(_ event: WatchEvent) -> String? {
        switch event.event {
        case "task.created": return "accepted: \(event.method ?? "") \(event.url ?? "")"
        case "task.resumed": return "resumed"
        case "task.suspended": return "suspended by the \(event.reason ?? "user")"
        // Told by the retry.
        case "task.held" where event.reason == "backoff": return nil
        case "task.held": return "waiting(\(event.reason ?? ""))\(event.detail.map { ": \($0)" } ?? "")"
        case "task.attemptStarted": return "attempt \(event.attempt ?? 1)"
        case "task.attemptFailed": return "attempt \(event.attempt ?? 1) failed: \(event.reason ?? "")"
        case "task.retryScheduled":
            let delay = event.delaySeconds.map { DurationText(.seconds($0)).description } ?? "a moment"
            return "retry in \(delay): \(event.reason ?? "")"
        case "task.retriesExhausted": return "no further retry: \(event.reason ?? "")"
        case "task.restarted":
            return "starting again: \(ByteText(event.discardedBytes ?? 0)) could not be continued"
        case "task.progress": return self.progress(event)
        case "task.moveFailed": return "cannot be put in place: \(event.file ?? "")"
        case "task.completed":
            self.tenths[event.task] = nil
            return self.end(event)
        // Gates, heads and what went well are for programs.
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
        let outcome = event.outcome ?? "over"
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
