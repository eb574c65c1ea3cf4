internal import TidegateCore

/// What became of the requests within a quarter of a minute.
struct RequestSlice: Codable, Sendable {
    /// Requests that failed in the same way.
    struct Failure: Codable, Sendable {
        private let partyName: String
        /// The host; empty if it does not matter.
        let subject: String
        /// Why, as a clause.
        let cause: String
        /// True if a lost path ended them, so that they are the effect of an outage.
        let isPathLoss: Bool
        fileprivate(set) var count = 1
        private let firstMicroseconds: Int64
        fileprivate var lastMicroseconds: Int64

        /// Whose failure it was.
        var party: FaultParty { FaultParty(rawValue: self.partyName) ?? .unknown }
        var first: WallTime { WallTime(microseconds: self.firstMicroseconds) }
        var last: WallTime { WallTime(microseconds: self.lastMicroseconds) }

        init(_ party: FaultParty, subject: String, cause: String, isPathLoss: Bool = false, at time: WallTime) {
            (self.partyName, self.subject, self.cause) = (party.rawValue, subject, cause)
            self.isPathLoss = isPathLoss
            (self.firstMicroseconds, self.lastMicroseconds) = (time.microseconds, time.microseconds)
        }

        /// What is counted together once too many ways to fail are told apart.
        fileprivate init(others party: FaultParty, at time: WallTime) {
            self.init(party, subject: "", cause: "other failures", at: time)
        }

        func isSame(as other: Failure) -> Bool {
            self.partyName == other.partyName && self.subject == other.subject && self.cause == other.cause
        }
    }

    static let length = Duration.seconds(15)
    /// The most ways to fail that are told apart: the rest are counted together, by party.
    private static let causeLimit = 24

    /// Counts the slices since 1970.
    let number: Int64
    /// The requests that ended, well or not.
    private(set) var requests = 0
    private(set) var failures: [Failure] = []

    init(number: Int64) { self.number = number }

    /// The slice of a moment.
    static func number(of time: WallTime) -> Int64 { time.microseconds / 15_000_000 }

    mutating func countRequest() { self.requests += 1 }

    /// Counts one of the failures for another party, which turned out to be the one; false if there is none.
    mutating func revise(_ failure: Failure, to party: FaultParty) -> Bool {
        let known =
            self.failures.firstIndex { $0.isSame(as: failure) }
            ?? self.failures.firstIndex { $0.isSame(as: Failure(others: failure.party, at: failure.first)) }
        guard let known else { return false }
        self.failures[known].count -= 1
        if self.failures[known].count == 0 { self.failures.remove(at: known) }
        self.add(Failure(party, subject: failure.subject, cause: failure.cause, at: failure.first))
        return true
    }

    mutating func add(_ failure: Failure) {
        let isKnown = self.failures.contains { $0.isSame(as: failure) }
        let added =
            isKnown || self.failures.count < RequestSlice.causeLimit
            ? failure : Failure(others: failure.party, at: failure.first)
        guard let position = self.failures.firstIndex(where: { $0.isSame(as: added) }) else {
            return self.failures.append(added)
        }
        self.failures[position].count += 1
        self.failures[position].lastMicroseconds = max(
            self.failures[position].lastMicroseconds, failure.lastMicroseconds)
    }
}
