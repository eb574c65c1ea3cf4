internal import TidegateCore

/// What happens during a probe, line by line, for whoever asks why it failed.
struct ProbeLog {
    enum Level: String { case info, error }

    /// A body could be full of what is logged; more than this is not kept.
    private static let limit = 200

    private let time: any TimeSource
    private let module: String
    private let target: String
    private(set) var lines: [String] = []

    init(time: any TimeSource, module: String, target: String) {
        self.time = time
        self.module = module
        // Without a password that it may have.
        self.target = URLRedaction(query: false).text(of: target)
    }

    mutating func add(_ level: Level, _ message: String, _ fields: [(String, String)] = []) {
        guard self.lines.count < ProbeLog.limit else { return }
        let fixed = [
            ("ts", self.time.wall().description), ("module", self.module), ("target", self.target),
            ("level", level.rawValue), ("msg", message),
        ]
        self.lines.append((fixed + fields).map { "\($0.0)=\(LogfmtText.quoted($0.1))" }.joined(separator: " "))
    }
}
