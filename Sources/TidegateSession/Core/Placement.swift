internal import Synchronization

/// Whether a finished download has reached its place: written and read on the disk's thread, in the order asked.
final class Placement: Sendable {
    private let done = Atomic<Bool>(false)

    var isDone: Bool { self.done.load(ordering: .acquiring) }

    func note() { self.done.store(true, ordering: .releasing) }
}
