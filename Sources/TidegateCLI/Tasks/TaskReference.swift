internal import TidegateCore

/// Finds the task that a word on the command line names: by its key, its name, its id, or the beginning of its id.
enum TaskReference {
    // Shorter words are more likely a mistyped key than the beginning of an id.
    private static let shortestPrefix = 4
    private static let mostCandidates = 4

    /// The id of the task that `word` names among `tasks`, which are sorted oldest first.
    ///
    /// Of several tasks with the key or name, the one that is not over is meant, or else the newest.
    /// - Throws: a usage error that names the candidates if several tasks are meant.
    static func find(_ word: String, in tasks: [TaskDocument]) throws(CommandError) -> String {
        if let id = TaskID(word) { return id.description }
        for (kind, member) in [("key", \TaskDocument.key), ("name", \TaskDocument.name)] {
            let named = tasks.filter { $0[keyPath: member] == word }
            guard let newest = named.last else { continue }
            let unfinished = named.filter { $0.outcome == nil }
            guard unfinished.count > 1 else { return unfinished.first?.id ?? newest.id }
            throw self.ambiguous("the \(kind) \"\(word.escapingControls)\"", unfinished)
        }
        let prefix = word.lowercased()
        let found = prefix.count < self.shortestPrefix ? [] : tasks.filter { $0.id.hasPrefix(prefix) }
        guard let first = found.first else {
            throw CommandError(.no, "no such task: \"\(word.escapingControls)\"")
        }
        guard found.count == 1 else { throw self.ambiguous("\"\(word)\"", found) }
        return first.id
    }

    private static func ambiguous(_ subject: String, _ tasks: [TaskDocument]) -> CommandError {
        let shown = tasks.suffix(self.mostCandidates).map { task in
            [task.id, (task.key ?? task.name).map { "(\($0.escapingControls))" }].compactMap(\.self)
                .joined(separator: " ")
        }
        let rest = tasks.count - shown.count
        let list = shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        return CommandError(.usage, "\(subject) fits \(tasks.count) tasks: \(list)")
    }

    /// The shortest beginnings of ids, sorted, by which ``find(_:in:)`` tells them apart; at least eight digits each.
    static func shortIDs(of ids: [String]) -> [String: String] {
        let sorted = ids.sorted()
        var short: [String: String] = [:]
        for (position, id) in sorted.enumerated() {
            let neighbours = [position - 1, position + 1].filter(sorted.indices.contains).map { sorted[$0] }
            let shared = neighbours.map { zip($0, id).prefix { $0 == $1 }.count }.max() ?? 0
            var count = max(8, shared + 1)
            // A final hyphen tells nothing apart.
            if id.prefix(count).hasSuffix("-") { count += 1 }
            short[id] = String(id.prefix(count))
        }
        return short
    }
}
