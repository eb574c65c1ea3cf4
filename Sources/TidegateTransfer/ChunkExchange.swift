/// A sink that takes a body in chunks while it has room, and says when it has room again.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSink: AnyObject, Sendable {
    /// Whether a chunk would be taken now.
    ///
    /// Whoever is told no stops, until ``TransferEngine/sinkHasRoom(_:)``.
    func hasRoom() -> Bool
    /// Takes a chunk; only after ``hasRoom()`` said yes.
    func write(_ chunk: [UInt8])
}

/// A source of a request's body that may not have the next bytes yet.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSource: AnyObject, Sendable {
    /// Up to `count` bytes.
    ///
    /// Whoever is told to wait stops, until ``TransferEngine/sourceHasBytes(_:)``.
    func read(upTo count: Int) -> ChunkRead
}

/// What a ``ChunkSource`` gave.
package enum ChunkRead: Sendable, Hashable {
    /// At least one byte.
    case bytes([UInt8])
    /// Nothing yet.
    case wait
    /// There is no more.
    case end
    /// The body cannot be read; in words why.
    case failed(String)
}

extension TransferEngine {
    /// An attempt's ``ChunkSink`` takes chunks again; ignored where it is over or not blocked.
    package func sinkHasRoom(_ id: AttemptID) { self.slots[id]?.unblock() }

    /// An attempt's ``ChunkSource`` has bytes again, or its end; ignored where it is over or not waiting.
    package func sourceHasBytes(_ id: AttemptID) { self.slots[id]?.feed() }

    /// Lets the body of an attempt come that asks before it does, into `sink` where one is given.
    ///
    /// Ignored where it is over.
    package func proceed(_ id: AttemptID, into sink: BodySink? = nil) { self.slots[id]?.proceed(into: sink) }
}
