internal import ArgumentParser
internal import FoundationEssentials
internal import Synchronization
internal import Tidegate
internal import TidegateServer

/// The text of `tasks watch`.
struct WatchText {
    /// Shows only how tasks end.
    var isQuiet = false
    /// Shows every event.
    var isVerbose = false

    private(set) var known: [String: Known] = [:]

    struct Known {
        /// The last tenth of the progress that was shown; it counts the request body if `isSent`.
        var tenth: (isSent: Bool, number: Int) = (false, -1)
        /// The number of attempts that followed an answer, such as a redirect; they belong to the attempt before them.
        var hops = 0
        /// True if the last attempt was answered; the next attempt then follows that answer.
        var isAnswered = false
    }

    /// The lines for an event of the stream; none if it is not shown.
    mutating func lines(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) {
            guard !self.isQuiet else { return [] }
            let more = (snapshot.total ?? 0) - snapshot.tasks.count
            return TaskText.list(snapshot.tasks, style, at: SystemClock().wall())
                + (more > 0 ? ["and \(more) more; run tasks list for all of them"] : [])
        }
        if let gap = try? decoder.decode(Gap.self, from: data) {
            return ["\(gap.count) events were lost; run tasks list for the current state"]
        }
        guard let event = try? decoder.decode(TaskLine.self, from: data), let text = self.text(of: event) else {
            return []
        }
        return ["\(event.time)  \(event.task)  \(text)".escapingControls]
    }

    private mutating func text(of event: TaskLine) -> String? {
        guard !self.isVerbose else { return event.sentence }
        guard !self.isQuiet || event.event == "task.completed" else { return nil }
        switch event.event {
        // The retry line already announces the backoff.
        case "task.held" where event.reason == HoldReason.backoff.rawValue: return nil
        case "task.released", "task.gate", "task.responseHead", "task.refetched", "task.moved": return nil
        case "task.progress": return self.progress(event)
        case "task.attemptSucceeded":
            self.known[event.task, default: Known()].isAnswered = true
            return nil
        case "task.attemptStarted": return self.start(event)
        case "task.completed":
            self.known[event.task] = nil
            // The text of a status already names the party, if that is informative.
            let isStatus = event.reason == TaskFailure.httpStatus.rawValue && (400..<600).contains(event.status ?? 0)
            return event.sentence + (isStatus ? "" : event.party.flatMap(FaultParty.init).map { " (\($0))" } ?? "")
        default: return event.sentence
        }
    }

    private mutating func start(_ event: TaskLine) -> String? {
        let isHop = self.known[event.task]?.isAnswered ?? false
        self.known[event.task]?.isAnswered = false
        self.known[event.task]?.hops += isHop ? 1 : 0
        let number = (event.attempt ?? 1) - (self.known[event.task]?.hops ?? 0)
        return isHop ? nil : TaskEvent.Kind.attemptStarted(number: number).sentence
    }

    private mutating func progress(_ event: TaskLine) -> String? {
        let isSent = event.sending ?? false
        guard let share = isSent ? event.sentFraction : event.fraction else { return nil }
        let fraction = min(1, max(0, share))
        let tenth = (isSent: isSent, number: Int(fraction * 10))
        guard self.known[event.task, default: Known()].tenth != tenth else { return nil }
        self.known[event.task, default: Known()].tenth = tenth
        let total = ByteText((isSent ? event.expectedSentBytes : event.expectedBytes) ?? 0)
        return "\(Int(fraction * 100)) % of \(total)\(isSent ? " sent" : "")"
    }

    private struct Snapshot: Decodable {
        let tasks: [TaskDocument]
        let total: Int?
    }

    private struct Gap: Decodable {
        let count: Int
    }

    // The members of a task event that are shown (``Event/json(redaction:)``).
    private struct TaskLine: Decodable {
        let event, time, task, sentence: String
        let reason, party: String?
        let status, attempt: Int?
        let fraction, sentFraction: Double?
        let expectedBytes, expectedSentBytes: Int64?
        let sending: Bool?
    }
}

/// `tidegate tasks watch`.
struct TasksWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the tasks, then their events.",
        discussion: """
            Runs until interrupted or until the daemon exits. -q shows only how tasks end; -v shows every event.
            """)

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (terminal, isJSON) = (Terminal(), self.control.output.json)
        let output = self.control.output
        let text = Mutex(WatchText(isQuiet: output.quiet, isVerbose: output.verbose))
        try await self.control.connecting(
            try await self.control.client.watch { line in
                guard !isJSON else { return terminal.print(line) }
                for line in text.withLock({ $0.lines(line, terminal.outputStyle) }) { terminal.print(line) }
            })
        throw CommandError(.no, "the daemon closed the connection")
    }
}
