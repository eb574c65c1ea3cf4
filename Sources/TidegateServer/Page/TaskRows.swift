internal import TidegateCore

/// The tasks of the page, one row for each name or key, those with one first: what moves, then what waits, then
/// what is over.
struct TaskRows {
    let tasks: TaskSample
    let results: [String: TaskResults]
    /// When scheduled tasks run next, by their names.
    let nextRuns: [String: WallTime]
    let redaction: URLRedaction
    let now: WallTime

    /// The most rows that are shown.
    static let limit = 40
    /// The most rows of tasks without a name.
    static let unnamedLimit = 20
    /// The most rows of ended tasks that are shown: more would hide the others.
    static let overLimit = 8

    /// The tasks of one name or key, or of one request.
    private struct Group {
        let label: String
        let isNamed: Bool
        var tasks: [TaskInfo]

        /// The one that says most about now: the latest of those that are furthest.
        var first: TaskInfo? { self.tasks.max { $0.state.name.rank < $1.state.name.rank } }
    }

    /// One figure for each state that there is: `2 running, 1 waiting`.
    var summary: String {
        let names: [(TaskState.Name, String)] = [
            (.running, "running"), (.waiting, "waiting"), (.suspended, "suspended"), (.completed, "over"),
        ]
        let counts = names.compactMap { name, text in
            let count = self.tasks.counts[name] ?? 0
            return count > 0 ? "\(count) \(text)" : nil
        }
        return counts.joined(separator: ", ")
    }

    var html: String {
        let groups = self.groups
        guard !groups.isEmpty else { return "<p class=\"empty\">No tasks yet.</p>" }
        let shown = self.shown(of: groups)
        let rest = groups.count - shown.count + self.tasks.total - self.tasks.tasks.count
        let more =
            rest > 0 ? "<p class=\"empty\">And \(rest) more: <a href=\"/api/v1/tasks\">all as JSON</a>.</p>" : ""
        let heads = ["Task", "State", "Last results", "Next run"].map { "<th scope=\"col\">\($0)</th>" }.joined()
        return """
            <table class="tasks"><thead><tr>\(heads)</tr></thead>\
            <tbody>\(shown.map(self.row).joined())</tbody></table>\(more)
            """
    }

    private var groups: [Group] {
        var groups: [Group] = []
        var places: [String: Int] = [:]
        func add(_ label: String, isNamed: Bool, _ task: TaskInfo?) {
            if let place = places[label] {
                if let task { groups[place].tasks.append(task) }
            } else {
                places[label] = groups.count
                groups.append(Group(label: label, isNamed: isNamed, tasks: task.map { [$0] } ?? []))
            }
        }
        // What ended before a restart is known by its results alone.
        for name in self.namesOfResults { add(name, isNamed: true, nil) }
        for task in self.tasks.tasks { add(self.label(of: task), isNamed: task.displayName != nil, task) }
        for name in self.nextRuns.keys.sorted() { add(name, isNamed: true, nil) }
        return groups
    }

    private func label(of task: TaskInfo) -> String {
        task.displayName ?? "\(task.method) \(self.redaction.text(of: task.url))"
    }

    // The one whose last result is the newest comes last.
    private var namesOfResults: [String] {
        self.results.filter(\.value.isNamed).sorted { left, right in
            (left.value.entries.last?.time.microseconds ?? 0, left.key)
                < (right.value.entries.last?.time.microseconds ?? 0, right.key)
        }.map(\.key)
    }

    private func shown(of groups: [Group]) -> [Group] {
        // What somebody gave a name or a schedule is looked for; the rest may be thousands.
        let named = groups.filter(\.isNamed)
        let others = groups.filter { !$0.isNamed }
        return Array((self.ordered(named) + self.ordered(others).prefix(TaskRows.unnamedLimit)).prefix(TaskRows.limit))
    }

    private func ordered(_ groups: [Group]) -> [Group] {
        let order: [TaskState.Name] = [.running, .waiting, .suspended]
        let living = order.flatMap { name in groups.filter { $0.first?.state.name == name } }
        let over = groups.reversed().filter { $0.first.map { $0.state.name == .completed } ?? true }
        let scheduled = over.filter { self.nextRuns[$0.label] != nil }
        return living + scheduled
            + over.filter { self.nextRuns[$0.label] == nil }.prefix(TaskRows.overLimit)
    }

    // MARK: A row

    private func row(_ group: Group) -> String {
        guard let task = group.first else {
            return "<tr><td data-head=\"Task\"><b>\(HTML.escaped(group.label))</b></td><td data-head=\"State\">"
                + "\(self.lastState(of: group).html)</td>\(self.history(of: group))</tr>"
        }
        let others = group.tasks.count > 1 ? " <span class=\"times\">×\(group.tasks.count)</span>" : ""
        let url = "\(HTML.escaped(task.method)) \(HTML.escaped(self.redaction.text(of: task.url)))"
        let name =
            task.displayName.map { "<b>\(HTML.escaped($0))</b>\(others)<span class=\"url\">\(url)</span>" }
            ?? "<span class=\"url\">\(url)\(others)</span>"
        return """
            <tr data-task="\(task.id)" class="\(task.state.name.rawValue)"><td data-head="Task">\(name)</td>\
            <td data-head="State"><div>\(task.state.cell.html) \(task.progressHTML)</div>\(self.note(on: task))</td>\
            \(self.history(of: group))</tr>
            """
    }

    // Without a task the last result is the state.
    private func lastState(of group: Group) -> Cell {
        self.results[group.label]?.entries.last.map { TaskState.completed($0.outcome).cell } ?? .text("not yet")
    }

    private func history(of group: Group) -> String {
        let entries = self.results[group.label]?.entries ?? []
        let marks = entries.map { entry in
            let title = HTML.escaped("\(entry.time.dateAndTime): \(entry.text)")
            return "<i class=\"\(entry.outcome.tone.rawValue)\" title=\"\(title)\">\(entry.outcome.mark)</i>"
        }
        let latest = entries.last.map { entry in
            let party = entry.party.map { " " + Cell.party($0).html } ?? ""
            return "<span class=\"note\">\(HTML.time(entry.time)) \(HTML.escaped(entry.text))\(party)</span>"
        }
        let last = marks.isEmpty ? Cell.text(nil).html : "<span class=\"marks\">\(marks.joined())</span>\(latest ?? "")"
        let next = self.nextRuns[group.label].map { HTML.time($0) }
        return "<td data-head=\"Results\">\(last)</td><td data-head=\"Next run\">\(next ?? Cell.text(nil).html)</td>"
    }

    // Why a task waits, and how many attempts another one has needed.
    private func note(on task: TaskInfo) -> String {
        let attempts = task.progress.attempt
        let note: String? =
            switch task.state {
            case .waiting(let reason, let detail): HTML.escaped(detail ?? reason.description)
            case .completed where attempts > 1: "\(attempts) attempts"
            case .running where attempts > 1: "attempt \(attempts)"
            case .suspended, .running, .completed: nil
            }
        return note.map { "<span class=\"note\">\($0)</span>" } ?? ""
    }
}

extension TaskState.Name {
    fileprivate var rank: Int {
        switch self {
        case .running: 3
        case .waiting: 2
        case .suspended: 1
        case .completed: 0
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
    fileprivate var cell: Cell {
        switch self {
        case .suspended: .text("suspended")
        case .waiting: .wait("waiting")
        case .running: .html("<span class=\"run\">running</span>")
        case .completed(.success): .good("done")
        case .completed(.failure): .bad("failed")
        case .completed(.cancelled): .text("cancelled")
        }
    }
}

extension TaskInfo {
    // While the request's body is sent, how far that is; afterwards the response's.
    fileprivate var progressHTML: String {
        let isOver = self.state.name == .completed
        let current = self.progress.current
        let text = isOver ? self.progress.endText(of: self.kind) : current.description
        let bytes = text == ByteText(0).description ? "" : HTML.escaped(text)
        guard let fraction = current.fraction, !isOver else { return "<span class=\"bytes\">\(bytes)</span>" }
        let percent = Int((fraction * 100).rounded(.down))
        return """
            <span class="bytes">\(bytes)</span><span class="bar">\
            <progress max="100" value="\(percent)" aria-label="progress"></progress>\
            <span class="percent">\(percent) %</span></span>
            """
    }
}

extension TransferProgress {
    // What an upload was for is what it has sent.
    fileprivate func endText(of kind: TaskKind) -> String {
        let here = self.offset + self.receivedWire
        let isUpload = self.sent > 0 && (kind == .upload || here == 0)
        let (bytes, expected) = isUpload ? (self.sent, self.expectedSent) : (here, self.expected)
        // The length is said only of a body that did not come whole.
        let length = expected.flatMap { $0 > bytes ? " of \(ByteText($0))" : nil } ?? ""
        return "\(ByteText(bytes))\(length)\(isUpload ? " sent" : "")"
    }
}
