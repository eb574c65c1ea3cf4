internal import UnixSignals

/// Signals as asynchronous sequences; once a function returns, its signals are trapped, so none is lost or fatal.
package enum Signals {
    /// SIGINT and SIGTERM.
    package static func interrupts() async -> AsyncStream<Int32> { await self.trapped([.sigint, .sigterm]) }

    /// The signals commonly sent to a command, except `ignored`.
    package static func forwarded(except ignored: Set<Int32>) async -> AsyncStream<Int32> {
        await self.trapped(self.forwarded.filter { !ignored.contains($0.rawValue) })
    }

    private static func trapped(_ wanted: [UnixSignal]) async -> AsyncStream<Int32> {
        let signals = await UnixSignalsSequence(trapping: wanted)
        return AsyncStream { continuation in
            let task = Task {
                for await signal in signals { continuation.yield(signal.rawValue) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private static let forwarded: [UnixSignal] = [
        .sighup, .sigint, .sigquit, .sigterm, .sigusr1, .sigusr2, .sigalrm,
    ]
}
