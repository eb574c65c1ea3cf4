internal import UnixSignals

/// Signals as asynchronous calls.
package enum Signals {
    /// Traps SIGINT and SIGTERM and calls `body` for each one until the Swift task is cancelled.
    package static func onInterrupt(_ body: @Sendable (Int32) async -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            await body(signal.rawValue)
        }
    }

    /// The signals that are commonly sent to a command, except `ignored`; they are trapped once this has returned.
    package static func trapped(except ignored: Set<Int32>) async -> AsyncStream<Int32> {
        let signals = await UnixSignalsSequence(
            trapping: self.forwarded.filter { !ignored.contains($0.rawValue) })
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
