internal import FoundationEssentials
internal import TidegateControl
internal import TidegateModel

/// Tasks of a daemon as people read them.
enum TaskText {
    /// An id as it may stand in a request's path.
    static func id(_ text: String) throws(ControlFailure) -> String {
        guard let id = TaskID(text) else {
            throw ControlFailure(.refused(status: 404), "there is no task \"\(text)\"")
        }
        return id.description
    }

    static func list(_ tasks: [ListedTask], _ style: TextStyle) -> [String] {
        guard !tasks.isEmpty else { return ["no tasks"] }
        var table = Table()
        for task in tasks {
            table.add(
                .init(task.id), .init(self.state(task), self.tone(task)), .init(self.share(task)),
                .init("\(task.method) \(task.url)"))
        }
        return table.lines(style)
    }

    static func details(_ task: ListedTask, _ style: TextStyle) -> [String] {
        var table = Table()
        let rows: [(String, String?)] = [
            ("id", task.id), ("name", task.name), ("key", task.key), ("request", "\(task.method) \(task.url)"),
            ("state", self.state(task)), ("waits for", task.detail), ("progress", self.share(task)),
            ("attempts", String(task.attempt)), ("file", task.file), ("created", task.created), ("ended", task.ended),
            ("status", task.status.map(String.init)), ("reason", task.reason), ("explanation", task.explanation),
        ]
        for (name, value) in rows {
            if let value, !value.isEmpty { table.add(.init(name), .init(value)) }
        }
        return table.lines(style)
    }

    static func state(_ task: ListedTask) -> String {
        if let outcome = task.outcome { return outcome }
        return task.waitsFor.map { "\(task.state)(\($0))" } ?? task.state
    }

    /// What a line of the stream says.
    static func event(_ line: String, _ style: TextStyle) -> [String] {
        let decoder = JSONDecoder()
        let data = Data(line.utf8)
        if let snapshot = try? decoder.decode(Snapshot.self, from: data) { return self.list(snapshot.tasks, style) }
        guard let event = try? decoder.decode(Happening.self, from: data) else { return [] }
        let details = [event.reason, event.detail, event.outcome, event.file, event.explanation, event.url]
        return [([event.time, event.task, event.event] + details.compactMap(\.self)).joined(separator: "  ")]
    }

    private struct Snapshot: Decodable {
        let tasks: [ListedTask]
    }

    private struct Happening: Decodable {
        let event: String
        let time: String
        let task: String
        let reason: String?
        let detail: String?
        let outcome: String?
        let file: String?
        let explanation: String?
        let url: String?
    }

    private static func share(_ task: ListedTask) -> String {
        if let fraction = task.fraction { return "\(Int(fraction * 100)) %" }
        return task.bytes > 0 ? "\(task.bytes) B" : ""
    }

    private static func tone(_ task: ListedTask) -> TextStyle.Tone? {
        switch task.outcome {
        case "success": .good
        case "failure": .bad
        default: nil
        }
    }
}
