internal import TidegateCore

/// An echo request and the reply to it (RFC 792, RFC 4443 4).
struct EchoPacket {
    let family: AddressFamily
    let id: UInt16
    let sequence: UInt16
    let payload: [UInt8]

    static let headerSize = 8

    /// The request; the kernel computes the checksum of every kind of socket but IPv4's raw one.
    var request: [UInt8] {
        var bytes: [UInt8] =
            [self.family == .ipv4 ? 8 : 128, 0, 0, 0, UInt8(self.id >> 8), UInt8(truncatingIfNeeded: self.id)]
            + [UInt8(self.sequence >> 8), UInt8(truncatingIfNeeded: self.sequence)] + self.payload
        let sum = Self.checksum(bytes)
        bytes[2] = UInt8(sum >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: sum)
        return bytes
    }

    /// True if a message is the reply to this request; of datagram sockets the kernel sets and checks the id itself.
    func isAnswered(by message: ArraySlice<UInt8>, checkingID: Bool) -> Bool {
        guard message.count == Self.headerSize + self.payload.count else { return false }
        let bytes = Array(message)
        return bytes[0] == (self.family == .ipv4 ? 0 : 129) && bytes[1] == 0
            && self.hasNumbers(bytes, checkingID: checkingID)
            && bytes.dropFirst(Self.headerSize).elementsEqual(self.payload)
    }

    /// True if the packet that an error quotes is this request.
    func isQuoted(in message: ArraySlice<UInt8>, checkingID: Bool) -> Bool {
        let bytes = Array(message)
        guard bytes.count >= Self.headerSize else { return !checkingID }
        return self.hasNumbers(bytes, checkingID: checkingID)
    }

    private func hasNumbers(_ bytes: [UInt8], checkingID: Bool) -> Bool {
        UInt16(bytes[6]) << 8 | UInt16(bytes[7]) == self.sequence
            && (!checkingID || UInt16(bytes[4]) << 8 | UInt16(bytes[5]) == self.id)
    }

    // The Internet checksum (RFC 1071).
    private static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 2) {
            sum += UInt32(bytes[index]) << 8 | (index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0)
        }
        while sum > 0xFFFF { sum = (sum & 0xFFFF) + sum >> 16 }
        return ~UInt16(sum)
    }
}
