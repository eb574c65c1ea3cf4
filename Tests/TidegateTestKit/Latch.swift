internal import Glibc
internal import Synchronization

/// Blocks threads until a test opens it.
public final class Latch: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A closed latch.
    public init() {}

    /// Releases every thread, now and later.
    public func open() { self.flag.store(true, ordering: .releasing) }

    /// Whether it was opened.
    public var isOpen: Bool { self.flag.load(ordering: .acquiring) }

    /// Blocks the calling thread until it is opened.
    public func wait() {
        while !self.isOpen { Latch.yieldThread() }
    }

    /// Sleeps for 100 µs, so that other threads can run.
    public static func yieldThread() { usleep(100) }
}
