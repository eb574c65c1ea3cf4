/// A question and its answer on a stream, each preceded by its length in two octets (RFC 1035 4.2.2).
struct DNSStream {
    // Far longer than any list of addresses.
    private static let longest = 16_384

    /// The bytes that are still to be written.
    private(set) var unsent: ArraySlice<UInt8>
    private var received: [UInt8] = []

    init(_ message: [UInt8]) { self.unsent = DNSReply.framed(message)[...] }

    mutating func sent(_ count: Int) { self.unsent = self.unsent.dropFirst(count) }

    /// Adds bytes that were read; returns the answer once it is complete, an empty one if its length is out of bounds.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        self.received += bytes
        guard self.received.count >= 2 else { return nil }
        let length = Int(self.received[0]) << 8 | Int(self.received[1])
        guard length <= DNSStream.longest else { return [] }
        return self.received.count >= length + 2 ? Array(self.received[2..<(length + 2)]) : nil
    }
}
