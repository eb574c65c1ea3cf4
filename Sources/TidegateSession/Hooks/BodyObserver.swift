internal import Synchronization
internal import TidegateTransfer

/// Keeps what came of a body until its task's hearers are told, which is at the end of the same batch.
///
/// Nobody may be told from inside libcurl.
final class BodyObserver: ChunkSink {
    private let chunks = Mutex<[[UInt8]]>([])
    private let digest: BodyDigest?
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - digest: sums up the same bytes.
    ///   - wake: called when there is something to tell.
    init(digest: BodyDigest?, wake: @escaping @Sendable () -> Void) {
        self.digest = digest
        self.wake = wake
    }

    func hasRoom() -> Bool { true }

    func write(_ chunk: [UInt8]) {
        self.digest?.write(chunk)
        let isFirst = self.chunks.withLock { chunks in
            chunks.append(chunk)
            return chunks.count == 1
        }
        if isFirst { self.wake() }
    }

    /// What has come since the last time, in order.
    func takeAll() -> [[UInt8]] {
        self.chunks.withLock { chunks in
            defer { chunks = [] }
            return chunks
        }
    }
}
