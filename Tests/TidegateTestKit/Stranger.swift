internal import CLinux
internal import TidegateLoop

/// Another user of this machine, with the id 65534.
package enum Stranger {
    /// Runs `body` as that user, on a thread of its own; only as root.
    package static func run(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try LoopThread<Idle>(name: "tg-stranger") { _ in
            _ = tg_thread_become(65_534)
            body()
            return Idle()
        }
        thread.stop()
    }

    private final class Idle: LoopHandler {
        func receive(_ command: Never) {}
    }
}
