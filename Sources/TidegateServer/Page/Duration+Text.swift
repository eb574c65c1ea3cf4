internal import TidegateCore

extension Duration {
    /// The duration in its two largest units: `80 ms`, `4 s`, `2 min 10 s`, `3 h`, `5 d 2 h`.
    var shortText: String {
        if self > .zero, self < .seconds(1) { return "\(self.wholeNanoseconds / 1_000_000) ms" }
        let seconds = max(0, self.components.seconds)
        let units = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")] as [(Int64, String)]
        guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0 s" }
        let (size, name) = units[first]
        let rest = seconds % size
        guard first + 1 < units.count, case let (smaller, smallName) = units[first + 1], rest / smaller > 0
        else { return "\(seconds / size) \(name)" }
        return "\(seconds / size) \(name) \(rest / smaller) \(smallName)"
    }
}

extension WallTime {
    /// The time of day in UTC: `12:03:11`.
    var clockTime: String { String(self.description.dropFirst(11).prefix(8)) }

    /// The moment with its date, to the second: `2026-11-21 12:03:11 UTC`.
    var dateAndTime: String { "\(self.description.prefix(10)) \(self.clockTime) UTC" }

    /// The time from this moment to `now`; zero if the moment is later.
    func ago(at now: WallTime) -> Duration { .microseconds(max(0, now.microseconds - self.microseconds)) }
}
