internal import Glibc
internal import Synchronization

/// Holds threads back until a test opens it.
public final class Latch: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A closed latch.
    public init() {}

    /// Lets everybody through, now and later.
    public func open() { self.flag.store(true, ordering: .releasing) }

    /// Whether it lets everybody through.
    public var isOpen: Bool { self.flag.load(ordering: .acquiring) }

    /// Waits on the calling thread.
    public func wait() {
        while !self.isOpen { Latch.yieldThread() }
    }

    /// Gives another thread the processor for a moment.
    public static func yieldThread() { usleep(100) }
}
