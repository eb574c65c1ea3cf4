internal import TidegateCore

/// Decides when a condition is checked again: soon after the paths change, otherwise with growing intervals.
struct PollInterval: Sendable {
    /// The interval after the first check.
    static let first: Duration = .seconds(1)
    /// The upper bound of the interval.
    static let longest: Duration = .seconds(10)
    /// The lower bound while paths keep changing.
    static let shortest: Duration = .milliseconds(250)

    private var interval = PollInterval.first
    private var last: (moment: MonotonicTime, paths: CurrentPaths)?

    init() {}

    /// True if the condition should be checked now.
    func isDue(on paths: CurrentPaths, at now: MonotonicTime) -> Bool {
        guard let last = self.last else { return true }
        return now - last.moment >= (last.paths == paths ? self.interval : PollInterval.shortest)
    }

    /// Records that a check was started.
    mutating func didPoll(on paths: CurrentPaths, at now: MonotonicTime) {
        if let last = self.last, last.paths == paths {
            self.interval = min(self.interval * 2, PollInterval.longest)
        } else {
            self.interval = PollInterval.first
        }
        self.last = (now, paths)
    }
}

/// The paths in use now: evidence is valid only on the paths that it was found on.
struct CurrentPaths: Sendable, Hashable {
    private let paths: [NetworkPath.Identity?]

    /// The families' default paths, and those to a target's addresses.
    init(_ status: ReachabilityStatus, to target: Target? = nil) {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        let verdicts = status.families.map(\.verdict) + addresses.map(\.verdict)
        self.paths = verdicts.map { $0.level >= .routed ? $0.path?.identity : nil }
    }
}
