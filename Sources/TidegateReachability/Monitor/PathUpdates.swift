public import TidegateCore

/// The present path to a target, then every change of it; never ends by itself.
///
/// Of several changes that a consumer has not taken yet, only the newest is kept.
public struct PathUpdates: AsyncSequence, Sendable {
    let source: any PathSource
    let target: Target

    /// Starts a watch, which ends with the iterator or with its task.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TargetVerdict.self, bufferingPolicy: .bufferingNewest(1))
        let watch = self.source.watch(self.target) { continuation.yield($0) }
        continuation.onTermination = { _ in watch.cancel() }
        return Iterator(stream: stream.makeAsyncIterator())
    }

    /// Iterates over the path's changes.
    public struct Iterator: AsyncIteratorProtocol {
        var stream: AsyncStream<TargetVerdict>.Iterator

        /// The present path at first, then the next change; nil once the task is cancelled.
        public mutating func next() async -> TargetVerdict? { await self.stream.next() }
    }
}
