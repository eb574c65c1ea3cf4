internal import Tidegate
internal import TidegateDaemon

/// What `wait` and `run` say while they wait.
enum WaitText {
    /// `carrier: eth0 has no carrier`, as one line: text of a server may be long, and must not control the terminal.
    static func unmet(_ unmet: UnmetCondition) -> String {
        let text = LineWrapper.printable(unmet.description)
        return text.count > 240 ? "\(text.prefix(239))…" : text
    }

    /// `waiting 3s of 2m for dns: no answer in time`.
    static func progress(_ progress: WaitProgress, of wait: WaitConfiguration) -> String {
        let limit = wait.timeout.map { " of \(DurationText($0))" } ?? ""
        let start = "waiting \(self.seconds(progress.elapsed))\(limit) for"
        guard let unmet = progress.unmet else {
            let verb = wait.conditions.count == 1 || wait.isAnyEnough ? "holds" : "hold"
            let time = "\(self.seconds(progress.held)) of \(DurationText(wait.stable))"
            return "\(start) \(self.conditions(wait)), which \(verb) for \(time)"
        }
        return "\(start) \(unmet.condition): \(unmet.message)"
    }

    /// `waiting for route and dns`.
    static func start(_ wait: WaitConfiguration) -> String { "waiting for \(self.conditions(wait))" }

    private static func conditions(_ wait: WaitConfiguration) -> String {
        wait.conditions.map(\.description).joined(separator: wait.isAnyEnough ? " or " : " and ")
    }

    private static func seconds(_ duration: Duration) -> DurationText {
        DurationText(.seconds(duration.components.seconds))
    }
}
