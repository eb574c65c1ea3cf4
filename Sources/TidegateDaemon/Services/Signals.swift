internal import UnixSignals

/// Signals that ask a command to end, as values.
package enum Signals {
    /// Traps SIGINT and SIGTERM and calls `body` for each one until the Swift task is cancelled.
    package static func onInterrupt(_ body: @Sendable (Int32) async -> Void) async {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            await body(signal.rawValue)
        }
    }

    /// Traps the signals that people send to a command, but none of `ignored`, and calls `body` for each one until the
    /// Swift task is cancelled.
    package static func onAny(except ignored: Set<Int32>, _ body: @Sendable (Int32) async -> Void) async {
        let signals = self.sentByPeople.filter { !ignored.contains($0.rawValue) }
        for await signal in await UnixSignalsSequence(trapping: signals) {
            await body(signal.rawValue)
        }
    }

    private static let sentByPeople: [UnixSignal] = [
        .sighup, .sigint, .sigquit, .sigterm, .sigusr1, .sigusr2, .sigalrm,
    ]
}
