internal import TidegateServer
internal import TidegateCore

/// The text of `tasks list` and `tasks show`.
enum TaskText {
    /// A valid task id; anything else is an unknown task.
    static func id(_ text: String) throws(ControlClientError) -> String {
        guard let id = TaskID(text) else {
            throw ControlClientError(.refused(status: 404), "no such task: \"\(text)\"")
        }
        return id.description
    }

    static func list(_ tasks: [TaskDocument], _ style: TextStyle) -> [String] {
        guard !tasks.isEmpty else { return ["no tasks"] }
        var table = Table()
        for task in tasks {
            table.add(
                .init(task.id), .init(self.state(task), self.color(task)), .init(self.share(task)),
                .init("\(task.method) \(task.url)".escapingControls))
        }
        return table.lines(style)
    }

    static func details(_ task: TaskDocument, _ style: TextStyle) -> [String] {
        var table = Table()
        let rows: [(String, String?)] = [
            ("id", task.id), ("name", task.name), ("key", task.key), ("request", "\(task.method) \(task.url)"),
            ("state", self.state(task)), ("waiting for", task.detail), ("progress", self.share(task)),
            ("attempts", String(task.attempts ?? task.attempt)), ("file", task.file), ("created", task.created),
            ("ended", task.ended),
            ("status", task.status.map(String.init)), ("reason", task.reason), ("explanation", task.explanation),
        ]
        for (name, value) in rows {
            if let value, !value.isEmpty { table.add(.init(name), .init(value.escapingControls)) }
        }
        return table.lines(style)
    }

    static func state(_ task: TaskDocument) -> String {
        if let outcome = task.outcome {
            guard outcome == "failure", let reason = task.reason else { return outcome }
            return "\(outcome)(\(reason))"
        }
        return task.waitsFor.map { "\(task.state)(\($0))" } ?? task.state
    }

    private static func share(_ task: TaskDocument) -> String {
        if let fraction = task.fraction { return "\(Int(fraction * 100)) %" }
        return task.bytes > 0 ? "\(task.bytes) B" : ""
    }

    private static func color(_ task: TaskDocument) -> TextColor? {
        switch task.outcome {
        case "success": .good
        case "failure": .bad
        default: nil
        }
    }
}
