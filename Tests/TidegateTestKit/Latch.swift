internal import Glibc
internal import Synchronization

/// Holds threads back until a test opens it.
public final class Latch: Sendable {
    private let isOpen = Atomic<Bool>(false)

    /// A closed latch.
    public init() {}

    /// Lets everybody through, now and later.
    public func open() { self.isOpen.store(true, ordering: .releasing) }

    /// Waits on the calling thread.
    public func wait() {
        while !self.isOpen.load(ordering: .acquiring) { Latch.yieldThread() }
    }

    /// Gives another thread the processor for a moment.
    public static func yieldThread() { usleep(100) }
}
