internal import Glibc
internal import Synchronization

/// Blocks threads until a test opens it.
package final class Latch: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A closed latch.
    package init() {}

    /// Releases every thread, now and later.
    package func open() { self.flag.store(true, ordering: .releasing) }

    /// Whether it was opened.
    package var isOpen: Bool { self.flag.load(ordering: .acquiring) }

    /// Blocks the calling thread until it is opened.
    package func wait() {
        while !self.isOpen { Latch.yieldThread() }
    }

    /// Sleeps for 100 µs, so that other threads can run.
    package static func yieldThread() { usleep(100) }
}
