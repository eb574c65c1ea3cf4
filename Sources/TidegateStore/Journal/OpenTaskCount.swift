internal import Synchronization

/// How many tasks of a journal are not over; written by its thread, read by any other.
final class OpenTaskCount: Sendable {
    private let count: Atomic<Int>

    init(_ count: Int) { self.count = Atomic(count) }

    var value: Int { self.count.load(ordering: .relaxed) }

    func add(_ change: Int) { self.count.wrappingAdd(change, ordering: .relaxed) }
}
