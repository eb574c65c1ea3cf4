internal import Synchronization
internal import TidegateTransfer

/// The SHA-256 of a body (FIPS 180-4), as 64 hexadecimal digits.
public struct ContentDigest: Sendable, Hashable, LosslessStringConvertible {
    /// The digits in lower case.
    public let description: String

    /// Parses 64 hexadecimal digits; nil for anything else.
    public init?(_ description: String) {
        let digits = description.lowercased()
        guard digits.utf8.count == 64,
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.description = digits
    }

    init(_ hash: borrowing SHA256Digest) { self.description = hash.value.hexadecimal }

    /// The digest of some bytes.
    public init(of bytes: [UInt8]) {
        self.description = MessageDigest.sha256(bytes).hexadecimal
    }

    /// The error for a body with another digest.
    func mismatch(_ found: ContentDigest) -> String { "the body's SHA-256 is \(found) and not \(self)" }
}

/// Computes the digest of a body while it is delivered.
final class BodyDigest: ChunkSink {
    private let hash = Mutex(SHA256Digest())

    func hasRoom() -> Bool { true }

    func write(_ chunk: [UInt8]) { self.hash.withLock { $0.update(chunk) } }

    func reset() { self.hash.withLock { $0 = SHA256Digest() } }

    var digest: ContentDigest { self.hash.withLock { ContentDigest($0) } }
}
