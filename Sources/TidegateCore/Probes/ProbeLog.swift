/// What happens during a probe, line by line, to find out why it failed.
///
/// It becomes text only when it is read: most logs are dropped unread.
package struct ProbeLog: Sendable, Hashable {
    /// How important a line is.
    package enum Level: String, Sendable { case info, error }

    private struct Line: Hashable {
        let time: WallTime
        let level: Level
        let message: String
        let fields: [Field]
    }

    private struct Field: Hashable {
        let name: String
        let value: String
    }

    /// A response could fill the log; lines beyond this limit are dropped.
    private static let limit = 200

    private let module: String
    private let target: String
    private var entries: [Line] = []

    /// An empty log of a target, whose password is not shown.
    package init(module: String, target: String) {
        self.module = module
        self.target = target
    }

    /// Adds a line; the log is full after 200 of them.
    package mutating func add(
        _ level: Level, _ message: String, _ fields: [(String, String)] = [], at time: WallTime
    ) {
        guard self.entries.count < Self.limit else { return }
        self.entries.append(
            Line(time: time, level: level, message: message, fields: fields.map { Field(name: $0.0, value: $0.1) }))
    }

    /// The lines in logfmt.
    package var lines: [String] {
        let target = Secrets.target(self.target)
        return self.entries.map { line in
            let fixed = [
                ("ts", line.time.description), ("module", self.module), ("target", target),
                ("level", line.level.rawValue), ("msg", line.message),
            ]
            return (fixed + line.fields.map { ($0.name, $0.value) })
                .map { "\($0.0)=\(LogfmtText.quoted($0.1))" }.joined(separator: " ")
        }
    }
}
