internal import UnixSignals

/// Signals that ask a command to end, as values.
package enum Signals {
    /// Traps SIGINT and SIGTERM and calls `body` for each one until the Swift task is cancelled.
    package static func onInterrupt(_ body: @Sendable (Int32) async -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            await body(signal.rawValue)
        }
    }
}
