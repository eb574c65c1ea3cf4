/// A sink that takes a body in chunks while it has room, and reports when it has room again.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSink: AnyObject, Sendable {
    /// Whether a chunk would be taken now.
    ///
    /// After a no nothing is written until ``TransferEngine/sinkHasRoom(_:)``.
    func hasRoom() -> Bool
    /// Takes a chunk; called only after ``hasRoom()`` said yes.
    func write(_ chunk: [UInt8])
}

/// A source of a request's body that may not have the next bytes yet.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSource: AnyObject, Sendable {
    /// Up to `count` bytes.
    ///
    /// After ``ChunkRead/wait`` nothing is read until ``TransferEngine/sourceHasBytes(_:)``.
    func read(upTo count: Int) -> ChunkRead
}

/// The result of reading a ``ChunkSource``.
package enum ChunkRead: Sendable, Hashable {
    /// At least one byte.
    case bytes([UInt8])
    /// Nothing yet.
    case wait
    /// There is no more.
    case end
    /// The body cannot be read; the text says why.
    case failed(String)
}
