internal import Tidegate

/// What `fetch -v` prints of exchanges while they go on, as curl(1) does: `*` notes, `>` what is sent, `<` what comes.
struct ExchangeText {
    private var shown: [TaskID: (number: Int, count: Int)] = [:]
    private let showsSecrets: Bool

    init(showingSecrets: Bool) { self.showsSecrets = showingSecrets }

    /// The lines of a task that were not given yet.
    mutating func newLines(of exchanges: [Exchange], _ task: TaskID) -> [String] {
        var texts: [String] = []
        for exchange in exchanges {
            let known = self.shown[task] ?? (0, 0)
            guard exchange.number >= known.number else { continue }
            let lines = self.showsSecrets ? exchange.lines : exchange.redactedLines
            texts += lines.dropFirst(exchange.number == known.number ? known.count : 0).map(Self.text)
            self.shown[task] = (exchange.number, lines.count)
        }
        return texts
    }

    /// A task is over.
    mutating func forget(_ task: TaskID) { self.shown[task] = nil }

    private static func text(_ line: Exchange.Line) -> String {
        switch line.kind {
        case .note: "* \(line.text)"
        case .sent: "> \(line.text)"
        case .received: "< \(line.text)"
        }
    }
}
