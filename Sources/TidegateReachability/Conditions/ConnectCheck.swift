internal import Synchronization
public import TidegateCore
internal import TidegateNetwork

/// Checks that a port accepts connections: it connects, and hangs up at once.
public final class ConnectCheck: Sendable {
    private let connector: Connector?

    /// A check with a thread of its own, `tg-connect`.
    public convenience init() { self.init(onThreadStart: {}) }

    /// A check whose thread runs `onThreadStart` first; a test enters its namespace there.
    package init(onThreadStart: @escaping @Sendable () -> Void) {
        self.connector = try? Connector(onThreadStart: onThreadStart)
    }

    /// Tries all addresses at once within `limit`; passes with the first that accepts.
    ///
    /// Fails with the reason of the first address in the list.
    public func connect(to addresses: [IPAddress], port: UInt16, within limit: Duration) async -> HostCheckResult {
        guard let connector = self.connector else { return .failed(.monitorDown) }
        guard !addresses.isEmpty else { return .failed(.nameNotFound) }
        return await withCheckedContinuation { waiter in
            let race = ConnectRace(count: addresses.count) { waiter.resume(returning: $0) }
            for (position, address) in addresses.enumerated() {
                connector.connect(to: address, port: port, within: limit) { race.ended(position, $0) }
            }
        }
    }
}

/// Several attempts to connect: the first success ends the race, or the last failure does.
private final class ConnectRace: Sendable {
    private struct State {
        var missing: Int
        var firstReason: (position: Int, reason: UnreachableReason)?
        var isOver = false
    }

    private let state: Mutex<State>
    private let finish: @Sendable (HostCheckResult) -> Void

    init(count: Int, finish: @escaping @Sendable (HostCheckResult) -> Void) {
        self.state = Mutex(State(missing: count))
        self.finish = finish
    }

    func ended(_ position: Int, _ outcome: ConnectOutcome) {
        let result = self.state.withLock { state -> HostCheckResult? in
            guard !state.isOver else { return nil }
            state.missing -= 1
            switch outcome {
            case .connected:
                state.isOver = true
                return .passed
            case .failed(let reason, refusal: _):
                if position <= state.firstReason?.position ?? .max { state.firstReason = (position, reason) }
                guard state.missing == 0, let first = state.firstReason else { return nil }
                state.isOver = true
                return .failed(first.reason)
            }
        }
        if let result { self.finish(result) }
    }
}
