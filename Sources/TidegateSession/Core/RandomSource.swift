internal import Synchronization
internal import TidegateCore

/// The one source of chance of a session.
final class RandomSource: Sendable {
    private let generator: Mutex<any RandomNumberGenerator & Sendable>
    private let ids: Mutex<IDSequence>

    init(_ generator: any RandomNumberGenerator & Sendable) {
        var generator = generator
        self.ids = Mutex(IDSequence(state: generator.next()))
        self.generator = Mutex(generator)
    }

    func roll<Value: Sendable>(_ use: (inout any RandomNumberGenerator & Sendable) -> Value) -> Value {
        self.generator.withLock { use(&$0) }
    }

    /// A new task's id.
    func taskID(at time: WallTime) -> TaskID {
        self.ids.withLock { TaskID(at: time, using: &$0) }
    }
}

/// Random bits for ids, from one draw of the session's generator (splitmix64).
///
/// Ids have to differ and need be no secret; asking the kernel for every one would cost two system calls.
private struct IDSequence: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
