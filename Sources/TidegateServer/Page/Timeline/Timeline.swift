internal import TidegateCore

/// The level and the failed requests of the last hour, in bounded memory.
struct Timeline {
    /// Failed requests by party within 15 seconds.
    struct Failures {
        fileprivate(set) var slice: UInt64 = 0
        private(set) var counts = Array(repeating: 0, count: FaultParty.allCases.count)

        fileprivate mutating func add(_ party: FaultParty, in slice: UInt64) {
            if self.slice != slice {
                self.slice = slice
                for position in self.counts.indices { self.counts[position] = 0 }
            }
            if let position = FaultParty.allCases.firstIndex(of: party) { self.counts[position] += 1 }
        }
    }

    private struct Change {
        let moment: MonotonicTime
        let level: ReachabilityLevel
    }

    static let sliceLength = Duration.seconds(15)
    private static let sliceCount = 240
    private static let changeLimit = 512

    let start: MonotonicTime
    private var first: ReachabilityLevel?
    private var changes: [Change] = []
    private var slices = Array(repeating: Failures(), count: Timeline.sliceCount)

    init(from start: MonotonicTime) { self.start = start }

    mutating func handle(_ event: Event) {
        switch event.payload {
        case .path(let path) where path.scope == .global: self.handle(path, at: event.moment)
        case .task(let task):
            guard case .attemptFailed(_, let failure, let attribution, _) = task.kind, failure != .cancelled
            else { return }
            let slice = Timeline.slice(of: event.moment)
            self.slices[Int(slice % UInt64(Timeline.sliceCount))].add(attribution?.party ?? .unknown, in: slice)
        case .path, .targetCheck, .link, .netlink, .session, .daemon: break
        }
    }

    private mutating func handle(_ path: PathEvent, at moment: MonotonicTime) {
        if self.first == nil { self.first = path.from.level }
        guard path.from.level != path.to.level else { return }
        if self.changes.count == Timeline.changeLimit {
            self.first = self.changes[Timeline.changeLimit / 4 - 1].level
            self.changes.removeFirst(Timeline.changeLimit / 4)
        }
        self.changes.append(Change(moment: moment, level: path.to.level))
    }

    /// The failures of a slice; none if the slice is older than an hour.
    func failures(in slice: UInt64) -> [Int] {
        let found = self.slices[Int(slice % UInt64(Timeline.sliceCount))]
        return found.slice == slice ? found.counts : Failures().counts
    }

    /// The levels from `start` to `end`, oldest first; `current` is the level if nothing has changed.
    func levels(from start: MonotonicTime, to end: MonotonicTime, current: ReachabilityLevel) -> [(
        level: ReachabilityLevel, until: MonotonicTime
    )] {
        var level = self.changes.isEmpty ? current : self.first ?? current
        var segments: [(level: ReachabilityLevel, until: MonotonicTime)] = []
        for change in self.changes {
            if change.moment > start { segments.append((level, min(change.moment, end))) }
            level = change.level
        }
        return segments + [(level, end)]
    }

    static func slice(of moment: MonotonicTime) -> UInt64 {
        moment.nanoseconds / UInt64(max(1, Timeline.sliceLength.wholeNanoseconds))
    }
}
