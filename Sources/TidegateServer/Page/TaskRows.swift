internal import TidegateCore

/// The tasks of the page: what moves first, then what waits, then what is over; so many at most.
struct TaskRows {
    let tasks: [TaskInfo]
    let redaction: URLRedaction

    /// More rows than this nobody reads, and a browser would choke on.
    static let limit = 40
    /// More of what is over would hide what is not.
    static let overLimit = 8

    /// One figure for each state that there is: `2 running, 1 waiting`.
    var summary: String {
        let names: [(TaskState.Name, String)] = [
            (.running, "running"), (.waiting, "waiting"), (.suspended, "suspended"), (.completed, "over"),
        ]
        let counts = names.compactMap { name, words in
            let count = self.tasks.count { $0.state.name == name }
            return count > 0 ? "\(count) \(words)" : nil
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
            <td>\(task.stateCell.html)\(self.attempt(of: task))</td><td>\(task.progressHTML)</td></tr>
            """
    }

    private func attempt(of task: TaskInfo) -> String {
        task.progress.attempt > 1 ? "<span class=\"try\">try \(task.progress.attempt)</span>" : ""
    }
}

extension TaskInfo {
    fileprivate var stateCell: Cell {
        switch self.state {
        case .suspended: .text("suspended")
        case .waiting(let reason, let detail): .wait("waits: \(detail ?? reason.rawValue)")
        case .running: .good("running")
        case .completed(.success): .good("done")
        case .completed(.failure): .bad("failed")
        case .completed(.cancelled): .text("cancelled")
        }
    }

    // An upload moves by what it sends, everything else by what it receives.
    fileprivate var progressHTML: String {
        let isUpload = self.kind == .upload && self.progress.expectedSent != nil
        let fraction = isUpload ? self.progress.fractionSent : self.progress.fraction
        let here = self.state.name == .completed ? self.progress.wordsOfEnd : self.progress.words
        let isUntouched = here == TransferProgress.size(0)
        let words = HTML.escaped(isUpload ? self.progress.sentWords : isUntouched ? "–" : here)
        guard let fraction, self.state.name != .completed else { return "<span class=\"bytes\">\(words)</span>" }
        let percent = Int((fraction * 100).rounded(.down))
        return """
            <span class="bar"><progress max="100" value="\(percent)" aria-label="progress"></progress>\
            <span class="percent">\(percent) %</span></span> <span class="bytes">\(words)</span>
            """
    }
}

extension TransferProgress {
    fileprivate var wordsOfEnd: String {
        let here = self.offset + self.receivedWire
        return self.expected.map { $0 <= here } ?? true ? TransferProgress.size(here) : self.words
    }

    fileprivate var sentWords: String {
        let sent = TransferProgress.size(self.sent)
        return self.expectedSent.map { "\(sent) of \(TransferProgress.size($0)) sent" } ?? "\(sent) sent"
    }
}
