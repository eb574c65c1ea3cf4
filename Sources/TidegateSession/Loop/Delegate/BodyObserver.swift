internal import Synchronization
internal import TidegateTransfer

/// Keeps the bytes of a body until its task's observers get them, at the end of the same batch.
///
/// No code of an app's may run inside a callback of libcurl's.
final class BodyObserver: ChunkSink {
    private let chunks = Mutex<[[UInt8]]>([])
    private let digest: BodyDigest?
    private let notify: @Sendable () -> Void

    /// - Parameters:
    ///   - digest: sums up the same bytes.
    ///   - notify: called when there are bytes to pass on.
    init(digest: BodyDigest?, notify: @escaping @Sendable () -> Void) {
        self.digest = digest
        self.notify = notify
    }

    func hasRoom() -> Bool { true }

    func write(_ chunk: [UInt8]) {
        self.digest?.write(chunk)
        let isFirst = self.chunks.withLock { chunks in
            chunks.append(chunk)
            return chunks.count == 1
        }
        if isFirst { self.notify() }
    }

    /// The bytes that have come since the last time, in order.
    func takeAll() -> [[UInt8]] {
        self.chunks.withLock { chunks in
            defer { chunks = [] }
            return chunks
        }
    }
}
