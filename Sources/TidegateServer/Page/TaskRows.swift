internal import TidegateCore

/// The tasks of the page: what moves first, then what waits, then what is over; so many at most.
struct TaskRows {
    let tasks: [TaskInfo]
    let redaction: URLRedaction

    /// The most rows that are shown.
    static let limit = 40
    /// The most ended tasks that are shown: more would hide the others.
    static let overLimit = 8

    /// One figure for each state that there is: `2 running, 1 waiting`.
    var summary: String {
        let names: [(TaskState.Name, String)] = [
            (.running, "running"), (.waiting, "waiting"), (.suspended, "suspended"), (.completed, "over"),
        ]
        let counts = names.compactMap { name, text in
            let count = self.tasks.count { $0.state.name == name }
            return count > 0 ? "\(count) \(text)" : nil
        }
        return counts.joined(separator: ", ")
    }

    var html: String {
        guard !self.tasks.isEmpty else { return "<p class=\"empty\">No tasks yet.</p>" }
        let shown = self.shown
        let rest = self.tasks.count - shown.count
        let more =
            rest > 0 ? "<p class=\"empty\">And \(rest) more: <a href=\"/api/v1/tasks\">all as JSON</a>.</p>" : ""
        return """
            <table class="tasks"><thead><tr><th scope="col">Task</th><th scope="col">State</th>\
            <th scope="col">Progress</th></tr></thead><tbody>\(shown.map(self.row).joined())</tbody></table>\(more)
            """
    }

    private var shown: [TaskInfo] {
        let order: [TaskState.Name] = [.running, .waiting, .suspended]
        let living = order.flatMap { name in self.tasks.lazy.filter { $0.state.name == name }.prefix(TaskRows.limit) }
        let over = self.tasks.reversed().lazy.filter { $0.state.name == .completed }.prefix(TaskRows.overLimit)
        return Array((living + over).prefix(TaskRows.limit))
    }

    private func row(_ task: TaskInfo) -> String {
        let url = HTML.escaped(self.redaction.text(of: task.url))
        return """
            <tr data-task="\(task.id)" class="\(task.state.name.rawValue)">\
            <td><b>\(HTML.escaped(task.name ?? task.kind.rawValue))</b>\
            <span class="url">\(HTML.escaped(task.method)) \(url)</span></td>\
            <td>\(task.stateCell.html)\(self.note(on: task))</td><td>\(task.progressHTML)</td></tr>
            """
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

extension TaskInfo {
    fileprivate var stateCell: Cell {
        switch self.state {
        case .suspended: .text("suspended")
        case .waiting: .wait("waiting")
        case .running: .good("running")
        case .completed(.success): .good("done")
        case .completed(.failure): .bad("failed")
        case .completed(.cancelled): .text("cancelled")
        }
    }

    // The progress of an upload is what it has sent, of every other task what it has received.
    fileprivate var progressHTML: String {
        let isUpload = self.kind == .upload && self.progress.expectedSent != nil
        let fraction = isUpload ? self.progress.fractionSent : self.progress.fraction
        let received = self.state.name == .completed ? self.progress.endText : self.progress.description
        guard isUpload || received != ByteText(0).description else { return Cell.text(nil).html }
        let bytes = HTML.escaped(isUpload ? self.progress.sentText : received)
        guard let fraction, self.state.name != .completed else { return "<span class=\"bytes\">\(bytes)</span>" }
        let percent = Int((fraction * 100).rounded(.down))
        return """
            <span class="bar"><progress max="100" value="\(percent)" aria-label="progress"></progress>\
            <span class="percent">\(percent) %</span></span> <span class="bytes">\(bytes)</span>
            """
    }
}

extension TransferProgress {
    fileprivate var endText: String {
        let here = self.offset + self.receivedWire
        return self.expected.map { $0 <= here } ?? true ? ByteText(here).description : self.description
    }

    fileprivate var sentText: String {
        let sent = ByteText(self.sent).description
        return self.expectedSent.map { "\(sent) of \(ByteText($0).description) sent" } ?? "\(sent) sent"
    }
}
