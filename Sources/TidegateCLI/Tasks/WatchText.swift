internal import FoundationEssentials
internal import Tidegate
internal import TidegateServer
internal import TidegateCore

/// The text of `tasks watch`.
struct WatchText {
    /// The last tenth of its progress that was shown for each task.
    private var tenths: [TaskID: Int] = [:]

    /// The lines for an event of the stream; none if it is not shown.
    mutating func lines(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) {
            return TaskText.list(snapshot.tasks, style, at: SystemClock().wall())
        }
        if let gap = try? decoder.decode(Gap.self, from: data) {
            return ["\(gap.count) events were lost; run tasks list for the current state"]
        }
        guard let stamp = try? decoder.decode(Stamp.self, from: data),
            let event = try? decoder.decode(TaskEvent.self, from: data), let text = self.text(of: event)
        else { return [] }
        return ["\(stamp.time)  \(event.id)  \(text)".escapingControls]
    }

    private mutating func text(of event: TaskEvent) -> String? {
        switch event.kind {
        // The retry line announces the backoff.
        case .held(.backoff, detail: _): return nil
        case .progress(let progress, delta: _): return self.progress(progress, of: event.id)
        case .completed(let result):
            self.tenths[event.id] = nil
            return event.kind.sentence + (result.attribution.map { " (\($0.party))" } ?? "")
        case .created, .resumed, .suspended, .held, .attemptStarted, .attemptFailed, .retryScheduled, .retriesExhausted,
            .restarted, .moveFailed:
            return event.kind.sentence
        case .released, .gate, .responseHead, .attemptSucceeded, .refetched, .moved: return nil
        }
    }

    private mutating func progress(_ progress: TransferProgress, of task: TaskID) -> String? {
        guard let fraction = progress.fraction else { return nil }
        let tenth = Int(fraction * 10)
        guard self.tenths[task] != tenth else { return nil }
        self.tenths[task] = tenth
        return "\(Int(fraction * 100)) % of \(ByteText(progress.expected ?? 0))"
    }

    private struct Snapshot: Decodable {
        let tasks: [TaskDocument]
    }

    private struct Gap: Decodable {
        let count: Int
    }

    private struct Stamp: Decodable {
        let time: String
    }
}
