internal import Synchronization

/// Whether a finished download has reached its destination: written and read on the disk's thread, in order.
final class FileCommit: Sendable {
    private let done = Atomic<Bool>(false)
    private let abandoned = Atomic<Bool>(false)
    private let found = Mutex<ContentDigest?>(nil)

    var isDone: Bool { self.done.load(ordering: .acquiring) }

    func didCommit() { self.done.store(true, ordering: .releasing) }

    /// True once the file is not wanted any more: what takes long may stop.
    var isAbandoned: Bool { self.abandoned.load(ordering: .relaxed) }

    func abandon() { self.abandoned.store(true, ordering: .relaxed) }

    /// The body's digest; nil if that was not asked for or not finished.
    var digest: ContentDigest? {
        get { self.found.withLock { $0 } }
        set { self.found.withLock { $0 = newValue } }
    }
}
