internal import TidegateCore

/// The requests of the last hour in slices, the failures of a week in quarters of an hour, and which failures may still
/// be charged to another party.
struct RequestHistory: Sendable {
    /// An attempt of a task.
    struct Attempt: Hashable, Sendable {
        let task: TaskID
        let number: Int
    }

    static let span = Duration.seconds(3600)
    /// How long failures are counted after their slices were dropped.
    static let quarterSpan = Duration.seconds(7 * 86_400)
    /// The slices of a quarter of an hour.
    static let quarter: Int64 = 60
    // Those of half a minute, unless very many fail.
    private static let revisableLimit = 512

    /// The closed slices that are not empty, oldest first.
    private(set) var closed: [RequestSlice] = []
    /// The failures of dropped slices, by quarters of an hour since 1970.
    private(set) var quarters: [Int64: [FaultParty: Int]] = [:]
    private var open: RequestSlice?
    private var revisable: [(attempt: Attempt, slice: Int64, failure: RequestSlice.Failure)] = []

    /// The closed slices and the open one.
    var slices: [RequestSlice] { self.closed + (self.open.map { [$0] } ?? []) }

    /// Restores a slice of an earlier process; slices arrive in order.
    mutating func restore(_ slice: RequestSlice) { self.closed.append(slice) }

    /// Replaces the slice with the same number.
    mutating func replace(_ slice: RequestSlice) {
        if let known = self.closed.lastIndex(where: { $0.number == slice.number }) { self.closed[known] = slice }
    }

    /// Closes and returns the open slice if it ended before `time`, or unconditionally if `time` is nil.
    mutating func closeSlice(before time: WallTime? = nil) -> RequestSlice? {
        guard let open = self.open, time.map({ open.number < RequestSlice.number(of: $0) }) ?? true else { return nil }
        self.open = nil
        self.closed.append(open)
        self.dropOld(before: open.start)
        return open
    }

    mutating func countRequest(at time: WallTime) {
        self.openSlice(at: time)
        self.open?.requests += 1
    }

    /// Adds a failure; with an `attempt`, it may still be charged to another party.
    mutating func add(_ failure: RequestSlice.Failure, revisableAs attempt: Attempt? = nil) {
        self.openSlice(at: failure.last)
        self.open?.add(failure)
        guard let attempt, let number = self.open?.number else { return }
        self.revisable.append((attempt, number, failure), keeping: RequestHistory.revisableLimit)
    }

    /// Charges a failed attempt to the party that proved responsible; returns the slice to keep again.
    mutating func revise(_ attempt: Attempt, to party: FaultParty) -> RequestSlice? {
        guard let known = self.revisable.lastIndex(where: { $0.attempt == attempt }) else { return nil }
        let (_, number, failure) = self.revisable.remove(at: known)
        if self.open?.number == number {
            _ = self.open?.revise(failure, to: party)
            return nil
        }
        guard let place = self.closed.lastIndex(where: { $0.number == number }),
            self.closed[place].revise(failure, to: party)
        else { return nil }
        return self.closed[place]
    }

    /// Drops what is more than an hour older than `time`, and keeps how much failed.
    mutating func dropOld(before time: WallTime) {
        let oldest = RequestSlice.number(of: time - RequestHistory.span)
        for slice in self.closed where slice.number < oldest {
            for failure in slice.failures {
                self.quarters[slice.number / Self.quarter, default: [:]][failure.party, default: 0] += failure.count
            }
        }
        self.closed.removeAll { $0.number < oldest }
        let first = RequestSlice.number(of: time - Self.quarterSpan) / Self.quarter
        if self.quarters.keys.contains(where: { $0 < first }) {
            self.quarters = self.quarters.filter { $0.key >= first }
        }
    }

    private mutating func openSlice(at time: WallTime) {
        if self.open == nil { self.open = RequestSlice(number: RequestSlice.number(of: time)) }
    }
}

/// The results of requests within 15 seconds.
struct RequestSlice: Codable, Sendable {
    /// Requests that failed in the same way.
    struct Failure: Codable, Sendable {
        private let partyName: String
        /// The host; empty if it is irrelevant.
        let subject: String
        /// The cause, as a clause.
        let cause: String
        /// True if they failed because the path was lost, so that they are an effect of an outage.
        let isPathLoss: Bool
        fileprivate(set) var count = 1
        private let firstMicroseconds: Int64
        fileprivate var lastMicroseconds: Int64

        /// The responsible party.
        var party: FaultParty { FaultParty(rawValue: self.partyName) ?? .unknown }
        var first: WallTime { WallTime(microseconds: self.firstMicroseconds) }
        var last: WallTime { WallTime(microseconds: self.lastMicroseconds) }

        init(_ party: FaultParty, subject: String, cause: String, isPathLoss: Bool = false, at time: WallTime) {
            (self.partyName, self.subject, self.cause) = (party.rawValue, subject, cause)
            self.isPathLoss = isPathLoss
            (self.firstMicroseconds, self.lastMicroseconds) = (time.microseconds, time.microseconds)
        }

        /// The combined count of further failures, once too many kinds are distinguished.
        fileprivate init(others party: FaultParty, at time: WallTime) {
            self.init(party, subject: "", cause: "other failures", at: time)
        }

        func isSame(as other: Failure) -> Bool {
            self.partyName == other.partyName && self.subject == other.subject && self.cause == other.cause
        }
    }

    static let length = Duration.seconds(15)
    /// The maximum number of distinct failures; the rest are counted together, by party.
    private static let causeLimit = 24

    /// The number of slices since 1970.
    let number: Int64
    /// The number of finished requests, successful or not.
    var requests = 0
    private(set) var failures: [Failure] = []

    /// The start of the slice.
    var start: WallTime { WallTime(microseconds: self.number * 15_000_000) }

    /// The slice that contains a time.
    static func number(of time: WallTime) -> Int64 { time.microseconds / 15_000_000 }

    /// Moves one of the failures to the party that proved responsible; false if there is no such failure.
    mutating func revise(_ failure: Failure, to party: FaultParty) -> Bool {
        guard let known = self.place(of: failure) ?? self.place(of: .init(others: failure.party, at: failure.first))
        else { return false }
        self.failures[known].count -= 1
        if self.failures[known].count == 0 { self.failures.remove(at: known) }
        self.add(Failure(party, subject: failure.subject, cause: failure.cause, at: failure.first))
        return true
    }

    private func place(of failure: Failure) -> Int? { self.failures.firstIndex { $0.isSame(as: failure) } }

    mutating func add(_ failure: Failure) {
        let isKnown = self.place(of: failure) != nil
        let added =
            isKnown || self.failures.count < RequestSlice.causeLimit
            ? failure : Failure(others: failure.party, at: failure.first)
        guard let position = self.place(of: added) else { return self.failures.append(added) }
        self.failures[position].count += 1
        self.failures[position].lastMicroseconds = max(
            self.failures[position].lastMicroseconds, failure.lastMicroseconds)
    }
}
