internal import FoundationEssentials
internal import TidegateCore

/// The text that shows tasks to users.
enum TaskText {
    /// Words for the states and outcomes, which `tasks list --state` accepts.
    enum State: String, CaseIterable {
        case suspended, waiting, running, done, failed, cancelled

        init?(_ task: TaskDocument) {
            switch task.outcome.map({ TaskOutcome(rawValue: $0) }) {
            case .success??: self = .done
            case .failure??: self = .failed
            case .cancelled??: self = .cancelled
            case .some(nil): return nil
            case nil: self.init(rawValue: task.state)
            }
        }

        fileprivate var color: TextColor? {
            switch self {
            case .done: .good
            case .failed: .bad
            case .waiting: .doubtful
            case .suspended, .running, .cancelled: nil
            }
        }
    }

    // A task without a name shows its URL; `tasks show` prints the whole URL.
    private static let nameWidth = 36

    /// The table of `tasks list`, oldest first; the line `no tasks` if the list is empty.
    ///
    /// With `isVerbose`, ids and URLs are whole, and equal tasks are not grouped.
    static func list(
        _ tasks: [TaskDocument], _ style: TextStyle, at now: WallTime, isVerbose: Bool = false
    ) -> [String] {
        guard !tasks.isEmpty else { return ["no tasks"] }
        var table = Table(head: ["ID", "KEY OR NAME", "AGE", "STATE", "NEXT RUN", "WHOSE", "REASON"])
        let ids = TaskReference.shortIDs(of: tasks.map(\.id))
        for (task, count) in isVerbose ? tasks.map({ ($0, 1) }) : self.grouped(tasks) {
            let name = isVerbose ? self.wholeName(task) : self.name(task) + (count > 1 ? " (\(count))" : "")
            table.add(
                .init(isVerbose ? task.id : ids[task.id] ?? task.id), .init(name),
                .init(self.age(since: task.created, at: now) ?? "-"), .init(self.state(task), State(task)?.color),
                .init(self.nextRun(task, at: now) ?? "-"), .init(self.party(task) ?? "-"),
                .init(self.reason(task) ?? "-"))
        }
        return table.lines(style)
    }

    // Finished tasks of one name that ended alike are one row, that of the newest, with their number.
    private static func grouped(_ tasks: [TaskDocument]) -> [(TaskDocument, Int)] {
        var rows: [(task: TaskDocument, count: Int)] = []
        var known: [[String?]: Int] = [:]
        for task in tasks.reversed() {
            let likeness = [self.name(task), self.state(task), self.party(task), self.reason(task)]
            if task.outcome != nil, let row = known[likeness] {
                rows[row].count += 1
            } else {
                if task.outcome != nil { known[likeness] = rows.count }
                rows.append((task, 1))
            }
        }
        return rows.reversed()
    }

    /// The table of `tasks show`; `isVerbose` adds how the task is kept and when it started.
    static func details(
        _ task: TaskDocument, _ style: TextStyle, at now: WallTime, isVerbose: Bool = false
    ) -> [String] {
        var table = Table()
        let rows: [(String, String?)] = [
            ("id", task.id), ("name", task.name), ("key", task.key), ("request", "\(task.method) \(task.url)"),
            ("state", self.state(task)), ("reason", self.reason(task)), ("whose", self.party(task)),
            ("next run", self.nextRun(task, at: now)), ("attempts", String(task.attempts ?? task.attempt)),
            ("sent", self.amount(task.sentBytes, of: task.expectedSentBytes)),
            ("received", self.amount(task.bytes, of: task.expectedBytes)), ("file", task.file),
            ("created", task.created), ("ended", task.ended),
            ("status", task.status.map(String.init)), ("explanation", task.explanation),
        ]
        let more: [(String, String?)] = [
            ("kind", task.kind), ("kept", task.durable == true ? "in the journal" : "in memory"),
            ("started", task.started), ("waits for", task.waitsFor),
        ]
        for (name, value) in isVerbose ? rows + more : rows {
            if let value, !value.isEmpty { table.add(.init(name), .init(value.escapingControls)) }
        }
        return table.lines(style)
    }

    /// `running 43 %`, `waiting`, `failed`.
    static func state(_ task: TaskDocument) -> String {
        let word = State(task)?.rawValue ?? "not known"
        guard task.outcome == nil, let share = self.share(task) else { return word }
        return "\(word) \(share)"
    }

    /// What the task waits for, or why it failed; nil if neither.
    static func reason(_ task: TaskDocument) -> String? {
        switch State(task) {
        case .waiting: task.detail ?? task.waitsFor.flatMap { HoldReason(rawValue: $0)?.description }
        case .failed: self.failure(task)
        case .cancelled: task.explanation == "the task was cancelled" ? nil : task.explanation
        case .running: task.detail
        case .suspended, .done, nil: nil
        }
    }

    private static func failure(_ task: TaskDocument) -> String? {
        // That the retries are used up does not say why each attempt failed.
        guard let failure = task.reason.flatMap({ TaskFailure(rawValue: $0) }), failure != .retriesExhausted else {
            return task.explanation ?? TaskFailure.retriesExhausted.description
        }
        return failure.clause(status: task.status, nil)
    }

    /// The responsible party, such as `your router`; nil if nothing failed.
    static func party(_ task: TaskDocument) -> String? {
        task.party.flatMap { FaultParty(rawValue: $0)?.description }
    }

    /// `failed 3m ago: could not connect (the server)`.
    static func summary(_ task: TaskDocument, at now: WallTime) -> String {
        let ago = task.ended.flatMap { self.age(since: $0, at: now) }.map { " \($0) ago" } ?? ""
        let reason = self.reason(task).map { ": \($0.escapingControls)" } ?? ""
        return self.state(task) + ago + reason + (self.party(task).map { " (\($0))" } ?? "")
    }

    /// The result of a submission whose key a task already has; `task` is nil if it cannot be shown.
    static func nothingSubmitted(_ task: TaskDocument?, key: String, at now: WallTime) -> String {
        let start = "nothing was submitted: the key \"\(key.escapingControls)\" exists, and its task"
        guard let task else { return "\(start) is kept" }
        let summary = self.summary(task, at: now)
        return task.outcome == nil
            ? "\(start) is \(summary)" : "\(start) is over: \(summary); --on-duplicate replace runs it again"
    }

    private static func name(_ task: TaskDocument) -> String {
        LineWrapper.cut(self.wholeName(task), to: self.nameWidth)
    }

    private static func wholeName(_ task: TaskDocument) -> String {
        (task.key ?? task.name ?? task.url).escapingControls
    }

    private static func nextRun(_ task: TaskDocument, at now: WallTime) -> String? {
        guard let moment = task.nextRun.flatMap({ self.moment($0) }) else { return nil }
        return moment <= now ? "now" : "in \(now.ago(at: moment).shortText)"
    }

    private static func share(_ task: TaskDocument) -> String? {
        if task.sending == true {
            return "\(task.sentFraction.map { "\(Int($0 * 100)) %" } ?? "\(ByteText(task.sentBytes))") sent"
        }
        if let fraction = task.fraction { return "\(Int(fraction * 100)) %" }
        return task.bytes > 0 ? ByteText(task.bytes).description : nil
    }

    // Nil if there are no bytes and none are expected.
    private static func amount(_ bytes: Int64, of total: Int64?) -> String? {
        guard let total, total != bytes else { return bytes > 0 ? ByteText(bytes).description : nil }
        return "\(ByteText(bytes)) of \(ByteText(total))"
    }

    private static func age(since time: String, at now: WallTime) -> String? {
        self.moment(time).map { $0.ago(at: now).shortText }
    }

    /// A time in its JSON form; nil if it is invalid.
    static func moment(_ text: String) -> WallTime? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? Date(text, strategy: format)).map {
            WallTime(microseconds: Int64(($0.timeIntervalSince1970 * 1_000_000).rounded()))
        }
    }
}
