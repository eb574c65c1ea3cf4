internal import TidegateCore

/// The requests of the last hour in slices, and which failures may still be charged to another party.
struct RequestHistory: Sendable {
    /// An attempt of a task.
    struct Attempt: Hashable, Sendable {
        let task: TaskID
        let number: Int
    }

    static let span = Duration.seconds(3600)
    // Those of half a minute, unless very many fail.
    private static let revisableLimit = 512

    /// The slices that are over and in which something happened, the oldest first.
    private(set) var closed: [RequestSlice] = []
    private var open: RequestSlice?
    private var revisable: [(attempt: Attempt, slice: Int64, failure: RequestSlice.Failure)] = []

    /// The closed slices and the open one.
    var slices: [RequestSlice] { self.closed + (self.open.map { [$0] } ?? []) }

    /// Takes a slice of an earlier process; they come in their order.
    mutating func restore(_ slice: RequestSlice) { self.closed.append(slice) }

    /// Puts a slice in the place of what was known of it.
    mutating func replace(_ slice: RequestSlice) {
        if let known = self.closed.lastIndex(where: { $0.number == slice.number }) { self.closed[known] = slice }
    }

    /// Closes the slice that is over, if there is one that has not been; it is returned to be kept.
    mutating func closeSlice(before time: WallTime) -> RequestSlice? {
        guard let open = self.open, open.number < RequestSlice.number(of: time) else { return nil }
        return self.closeSlice()
    }

    /// Closes the slice that is not over yet.
    mutating func closeSlice() -> RequestSlice? {
        defer { self.open = nil }
        guard let open = self.open else { return nil }
        self.closed.append(open)
        self.dropOld(before: WallTime(microseconds: open.number * 15_000_000))
        return open
    }

    mutating func countRequest(at time: WallTime) {
        self.openSlice(at: time)
        self.open?.countRequest()
    }

    mutating func add(_ failure: RequestSlice.Failure) {
        self.openSlice(at: failure.last)
        self.open?.add(failure)
    }

    /// Adds a failed attempt whose party may still be revised.
    mutating func add(_ failure: RequestSlice.Failure, revisableAs attempt: Attempt) {
        self.add(failure)
        guard let number = self.open?.number else { return }
        if self.revisable.count == RequestHistory.revisableLimit { self.revisable.removeFirst() }
        self.revisable.append((attempt, number, failure))
    }

    /// Charges a failed attempt to the party that it turned out to be; gives the slice that is to be kept anew.
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

    /// Drops what is more than an hour older than `time`.
    mutating func dropOld(before time: WallTime) {
        let oldest = RequestSlice.number(of: time - RequestHistory.span)
        self.closed.removeAll { $0.number < oldest }
    }

    private mutating func openSlice(at time: WallTime) {
        if self.open == nil { self.open = RequestSlice(number: RequestSlice.number(of: time)) }
    }
}

extension WallTime {
    static func - (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds - duration.wholeNanoseconds / 1000)
    }
}
