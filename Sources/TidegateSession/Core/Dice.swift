internal import Synchronization

/// The one source of chance of a session.
final class Dice: Sendable {
    private let generator: Mutex<any RandomNumberGenerator & Sendable>

    init(_ generator: any RandomNumberGenerator & Sendable) { self.generator = Mutex(generator) }

    func roll<Value: Sendable>(_ use: (inout any RandomNumberGenerator & Sendable) -> Value) -> Value {
        self.generator.withLock { use(&$0) }
    }
}
