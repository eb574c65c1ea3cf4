internal import Synchronization

/// The first signal that asked the command to end.
final class CapturedSignal: Sendable {
    private let first = Mutex<Int32?>(nil)

    func set(_ number: Int32) { self.first.withLock { $0 = $0 ?? number } }

    var number: Int32? { self.first.withLock { $0 } }
}
