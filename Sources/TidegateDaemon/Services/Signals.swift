internal import UnixSignals

/// Signals as asynchronous calls.
package enum Signals {
    /// Traps SIGINT and SIGTERM and calls `body` for each one until the Swift task is cancelled.
    package static func onInterrupt(_ body: @Sendable (Int32) async -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            await body(signal.rawValue)
        }
    }

    /// Traps the signals that are commonly sent to a command, except `ignored`, and calls `body` for each one until the
    /// Swift task is cancelled.
    package static func onAny(except ignored: Set<Int32>, _ body: @Sendable (Int32) async -> Void) async {
        let signals = self.forwarded.filter { !ignored.contains($0.rawValue) }
        for await signal in await UnixSignalsSequence(trapping: signals) {
            await body(signal.rawValue)
        }
    }

    private static let forwarded: [UnixSignal] = [
        .sighup, .sigint, .sigquit, .sigterm, .sigusr1, .sigusr2, .sigalrm,
    ]
}
