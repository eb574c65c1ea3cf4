internal import Synchronization
internal import TidegateCore

/// The random numbers of a session: delays and ids come from its single generator.
final class RandomSource: Sendable {
    private let generator: Mutex<any RandomNumberGenerator & Sendable>
    private let ids: Mutex<IDSequence>

    init(_ generator: any RandomNumberGenerator & Sendable) {
        var generator = generator
        self.ids = Mutex(IDSequence(state: generator.next()))
        self.generator = Mutex(generator)
    }

    func draw<Value: Sendable>(_ use: (inout any RandomNumberGenerator & Sendable) -> Value) -> Value {
        self.generator.withLock { use(&$0) }
    }

    /// Extends a wait by up to a tenth.
    func lengthened(_ wait: Duration) -> Duration { wait + self.draw { Backoff.random(upTo: wait / 10, using: &$0) } }

    /// The delays of a number of tasks that are released together, shortest first.
    ///
    /// They are spread over a time that grows with the number, so that the tasks do not all arrive together.
    func staggeredDelays(_ count: Int) -> [Duration] {
        let window = Duration.seconds(min(30, max(0.25, Double(count) / 200)))
        return self.draw { generator in
            (0..<count).map { _ in Backoff.random(upTo: window, using: &generator) }
        }.sorted()
    }

    /// Creates a trace.
    func newTrace() -> TraceContext { self.ids.withLock { TraceContext(using: &$0) } }

    /// Creates the id of a span.
    func spanID() -> SpanID { self.ids.withLock { SpanID(using: &$0) } }

    /// Creates a task's id.
    func taskID(at time: WallTime) -> TaskID { self.ids.withLock { TaskID(at: time, using: &$0) } }
}

/// Random bits for ids, from one draw of the session's generator (splitmix64).
///
/// Ids must differ but need not be secret, and asking the kernel for each one would cost two system calls.
private struct IDSequence: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
