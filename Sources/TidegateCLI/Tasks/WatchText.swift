internal import ArgumentParser
internal import FoundationEssentials
internal import Synchronization
internal import Tidegate
internal import TidegateServer

/// The text of `tasks watch`.
struct WatchText {
    private var known: [TaskID: Known] = [:]

    private struct Known {
        /// The last tenth of its progress that was shown; of the request's body if it `isSent`.
        var tenth: (isSent: Bool, number: Int) = (false, -1)
        /// Attempts that went on from an answer, as after a redirect: they belong to the try before them.
        var hops = 0
        /// True if the last attempt was answered, so that another one goes on from there.
        var isAnswered = false
    }

    /// The lines for an event of the stream; none if it is not shown.
    mutating func lines(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) {
            let more = (snapshot.total ?? 0) - snapshot.tasks.count
            return TaskText.list(snapshot.tasks, style, at: SystemClock().wall())
                + (more > 0 ? ["and \(more) more; run tasks list for all of them"] : [])
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
        case .attemptSucceeded:
            self.known[event.id, default: Known()].isAnswered = true
            return nil
        case .attemptStarted(let number): return self.start(number, of: event.id)
        case .completed(let result):
            self.known[event.id] = nil
            return event.kind.sentence
                + (result.statusText == nil ? result.attribution.map { " (\($0.party))" } ?? "" : "")
        case .created, .resumed, .suspended, .held, .attemptFailed, .retryScheduled, .retriesExhausted, .continued,
            .restarted, .moveFailed:
            return event.kind.sentence
        default: return nil
        }
    }

    private mutating func start(_ number: Int, of task: TaskID) -> String? {
        let isHop = self.known[task]?.isAnswered ?? false
        self.known[task]?.isAnswered = false
        self.known[task]?.hops += isHop ? 1 : 0
        return isHop ? nil : TaskEvent.Kind.attemptStarted(number: number - (self.known[task]?.hops ?? 0)).sentence
    }

    private mutating func progress(_ progress: TransferProgress, of task: TaskID) -> String? {
        let body = progress.current
        guard let fraction = body.fraction else { return nil }
        let tenth = (isSent: body.isSent, number: Int(fraction * 10))
        guard self.known[task, default: Known()].tenth != tenth else { return nil }
        self.known[task, default: Known()].tenth = tenth
        return "\(Int(fraction * 100)) % of \(ByteText(body.total ?? 0))\(body.isSent ? " sent" : "")"
    }

    private struct Snapshot: Decodable {
        let tasks: [TaskDocument]
        let total: Int?
    }

    private struct Gap: Decodable {
        let count: Int
    }

    private struct Stamp: Decodable {
        let time: String
    }
}

/// `tidegate tasks watch`.
struct TasksWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the tasks, then their events.",
        discussion: "Runs until interrupted or until the daemon exits.")

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (terminal, isJSON) = (Terminal(), self.control.json)
        let text = Mutex(WatchText())
        try await self.control.connecting(
            try await self.control.client.watch { line in
                guard !isJSON else { return terminal.print(line) }
                for line in text.withLock({ $0.lines(line, terminal.outputStyle) }) { terminal.print(line) }
            })
        throw CommandError(.no, "the daemon closed the connection")
    }
}
