import Testing

@testable import TidegateTransfer

/// The encoder of request bodies.
@Suite struct GzipEncoderTests {
    /// What the encoder makes of the pieces, decoded again; nil if zlib has no memory.
    private func roundTrip(_ pieces: [[UInt8]], limit: Int) -> [UInt8]? {
        guard let encoder = GzipEncoder(pieceLimit: limit), let inflater = Inflater(.gzip) else { return nil }
        var encoded: [UInt8] = []
        for (number, piece) in pieces.enumerated() {
            encoded += encoder.encode(piece, isLast: number == pieces.count - 1)
        }
        var output = [UInt8](repeating: 0, count: pieces.map(\.count).reduce(1, +))
        let produced = encoded.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { inflater.inflate(input, into: $0).produced }
        }
        return Array(output[..<produced])
    }

    @Test("A body longer than zlib counts is encoded in pieces", arguments: [1, 3, 1000, 1 << 30])
    func pieces(_ limit: Int) {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * $0) }
        #expect(self.roundTrip([bytes, [], bytes], limit: limit) == bytes + bytes)
        #expect(self.roundTrip([[]], limit: limit) == [])
    }
}
