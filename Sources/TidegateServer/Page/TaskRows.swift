internal import TidegateCore

/// The tasks of the page, one row for each name or key, those with one first: what failed last, what moves, what waits,
/// and what is over.
struct TaskRows {
    let tasks: TaskSample
    let results: [String: TaskResults]
    /// When scheduled tasks run next, by name.
    let nextRuns: [String: WallTime]
    let redaction: URLRedaction
    let now: WallTime

    /// The maximum number of rows.
    static let limit = 40
    /// The maximum number of rows of unnamed tasks.
    static let unnamedLimit = 20

    /// The tasks with one name or key, or of one request.
    private struct Group {
        let label: String
        let isNamed: Bool
        let tasks: [TaskInfo]

        /// The task that best describes the current state: the latest of those that have progressed furthest.
        var first: TaskInfo? { self.tasks.reversed().min { $0.state.name.rank < $1.state.name.rank } }
    }

    /// A count for each state, such as `2 running, 1 waiting`.
    var summary: String {
        let counts = [TaskState.Name.running, .waiting, .suspended, .completed].compactMap { name in
            self.tasks.counts[name].map { "\($0) \(name == .completed ? "over" : name.rawValue)" }
        }
        return counts.joined(separator: ", ")
    }

    var html: HTML {
        let groups = self.groups
        guard !groups.isEmpty else { return HTML("p", class: "empty", "No tasks yet.") }
        let shown = self.shown(of: groups)
        let rest = groups.count - shown.count + self.tasks.total - self.tasks.tasks.count
        let all = HTML("a", with: ["href": "/api/v1/tasks"], "all as JSON")
        let more = rest > 0 ? HTML("p", class: "empty", "And \(rest) more: \(all).") : nil
        let heads = ["Task", "State", "Last results", "Next run"]
        let table = RowTable(section: "work", heads: heads, rows: shown.map(self.row), style: "tasks")
        return "\(table.html)\(more)"
    }

    private var groups: [Group] {
        let labels = self.tasks.tasks.map { $0.label(self.redaction) }
        let tasks = Dictionary(grouping: zip(labels, self.tasks.tasks), by: \.0).mapValues { $0.map(\.1) }
        var known: Set<String> = []
        // Tasks that ended before a restart are known only by their results.
        return (self.namesOfResults + labels + self.nextRuns.keys.sorted()).compactMap { label in
            guard known.insert(label).inserted else { return nil }
            let own = tasks[label] ?? []
            let isNamed = self.results[label]?.isNamed == true || own.first.map { $0.displayName != nil } ?? true
            return Group(label: label, isNamed: isNamed, tasks: own)
        }
    }

    // The name with the newest result comes last.
    private var namesOfResults: [String] {
        self.results.filter(\.value.isNamed).sorted { left, right in
            (left.value.entries.last?.time.microseconds ?? 0, left.key)
                < (right.value.entries.last?.time.microseconds ?? 0, right.key)
        }.map(\.key)
    }

    private func shown(of groups: [Group]) -> [Group] {
        // Users look for tasks with a name or a schedule; there may be thousands of others.
        let named = groups.filter(\.isNamed)
        let others = groups.filter { !$0.isNamed }
        return Array((self.ordered(named) + self.ordered(others).prefix(TaskRows.unnamedLimit)).prefix(TaskRows.limit))
    }

    private func ordered(_ groups: [Group]) -> [Group] {
        let order: [TaskState.Name] = [.running, .waiting, .suspended]
        let living = order.flatMap { name in groups.filter { $0.first?.state.name == name } }
        let over = groups.reversed().filter { $0.first.map { $0.state.name == .completed } ?? true }
        let scheduled = over.filter { self.nextRuns[$0.label] != nil }
        let all = living + scheduled + over.filter { self.nextRuns[$0.label] == nil }
        return all.filter(self.isFailing) + all.filter { !self.isFailing($0) }
    }

    // A task that runs again after a failure has not recovered yet.
    private func isFailing(_ group: Group) -> Bool {
        let last = self.results[group.label]?.entries.last?.outcome
        return last.map { $0 == .failure } ?? (group.first?.state == .completed(.failure))
    }

    // MARK: A row

    private func row(_ group: Group) -> RowTable.Row {
        let entries = self.results[group.label]?.entries ?? []
        let task = group.first
        let isOver = task.map { $0.state.name == .completed } ?? true
        let detail = [task?.requestLine(self.redaction), task.flatMap(self.note), entries.last?.text]
        return RowTable.Row(
            cells: [
                self.name(of: group), self.state(of: group), self.results(entries),
                self.nextRuns[group.label].map { .time($0) } ?? .dash,
            ],
            isUrgent: !isOver || self.isFailing(group), detail: detail.compactMap(\.self).joined(separator: "; "),
            style: task?.state.name.rawValue, task: task?.id.description)
    }

    private func name(of group: Group) -> HTML {
        guard let task = group.first else { return .name(group.label, nil) }
        let others = HTML.times(group.tasks.count)
        let url: HTML = "\(task.requestLine(self.redaction))"
        let name: HTML? = task.displayName.map { "\(.name($0, nil))\(others)\(HTML("span", class: "url", url))" }
        return name ?? HTML("span", class: "url", url, others)
    }

    private func state(of group: Group) -> HTML {
        guard let task = group.first else {
            // Without a task the last result is the state.
            return self.results[group.label]?.entries.last.map { TaskState.completed($0.outcome).html } ?? "not yet"
        }
        let note = self.note(on: task).map { HTML("span", class: "note", "\($0)") }
        return "\(HTML("div", "\(task.state.html) \(task.progressHTML)"))\(note)"
    }

    private func results(_ entries: [TaskResults.Entry]) -> HTML {
        let marks = entries.map { entry in
            HTML(
                "i", class: entry.outcome.tone.rawValue,
                with: ["title": "\(entry.time.dateAndTime): \(entry.text)"], "\(entry.outcome.mark)")
        }
        let latest = entries.last.map { entry in
            HTML("span", class: "note", .failure("\(.time(entry.time)) \(entry.text)", of: entry.party))
        }
        return marks.joined(in: "span", class: "marks").map { "\($0)\(latest)" } ?? .dash
    }

    // Why a task waits, and how many attempts another one has needed.
    private func note(on task: TaskInfo) -> String? {
        let attempts = task.progress.attempt
        return switch task.state {
        case .waiting(let reason, let detail): detail ?? reason.description
        case .completed where attempts > 1: "\(attempts) attempts"
        case .running where attempts > 1: "attempt \(attempts)"
        case .suspended, .running, .completed: nil
        }
    }
}

extension TaskOutcome {
    fileprivate var mark: String {
        switch self {
        case .success: "✓"
        case .failure: "✕"
        case .cancelled: "–"
        }
    }
}

extension TaskState {
    fileprivate var html: HTML {
        switch self {
        case .suspended: "suspended"
        case .waiting: .wait("waiting")
        case .running: HTML("span", class: "run", "running")
        case .completed(.success): .good("done")
        case .completed(.failure): .bad("failed")
        case .completed(.cancelled): "cancelled"
        }
    }
}

extension TaskInfo {
    /// The name or key; without one, the request.
    func label(_ redaction: URLRedaction) -> String { self.displayName ?? self.requestLine(redaction) }

    fileprivate func requestLine(_ redaction: URLRedaction) -> String {
        "\(self.method) \(redaction.text(of: self.url))"
    }

    // The progress of the request body while it is sent, then that of the response.
    fileprivate var progressHTML: HTML {
        let isOver = self.state.name == .completed
        let current = self.progress.current
        let text = isOver ? self.progress.endText(of: self.kind) : current.description
        let bytes = HTML("span", class: "bytes", text == ByteText(0).description ? nil : "\(text)")
        guard let fraction = current.fraction, !isOver else { return bytes }
        let percent = Int((fraction * 100).rounded(.down))
        let bar = HTML(
            "span", class: "bar",
            HTML("progress", with: ["max": "100", "value": "\(percent)", "aria-label": "progress"]),
            HTML("span", class: "percent", "\(percent) %"))
        return "\(bytes)\(bar)"
    }
}

extension TransferProgress {
    // For an upload, the sent bytes count.
    fileprivate func endText(of kind: TaskKind) -> String {
        let here = self.offset + self.receivedWire
        let isUpload = self.sent > 0 && (kind == .upload || here == 0)
        let (bytes, expected) = isUpload ? (self.sent, self.expectedSent) : (here, self.expected)
        // Shows the expected length only for an incomplete body.
        let length = expected.flatMap { $0 > bytes ? " of \(ByteText($0))" : nil } ?? ""
        return "\(ByteText(bytes))\(length)\(isUpload ? " sent" : "")"
    }
}
