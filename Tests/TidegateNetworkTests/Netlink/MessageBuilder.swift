@testable import TidegateNetwork

/// Builds netlink messages by hand, in the machine's byte order.
struct MessageBuilder {
    private(set) var bytes: [UInt8] = []

    /// A message of a type with a fixed part.
    init(_ type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 7, fixed: [UInt8]) {
        self.append(UInt32(0))
        self.append(type)
        self.append(flags)
        self.append(sequence)
        self.append(UInt32(0))
        self.bytes += fixed
        self.setLength()
    }

    /// An ifinfomsg.
    static func link(
        _ type: UInt16 = 16, family: UInt8 = 0, index: Int32 = 77, flags: UInt32 = 0x11043, change: UInt32 = 1
    ) -> MessageBuilder {
        MessageBuilder(
            type,
            fixed: [family, 0] + self.bytes(UInt16(1)) + self.bytes(index) + self.bytes(flags) + self.bytes(change))
    }

    mutating func add(_ type: UInt16, _ payload: [UInt8]) {
        self.append(UInt16(4 + payload.count))
        self.append(type)
        self.bytes += payload + [UInt8](repeating: 0, count: (4 - payload.count % 4) % 4)
        self.setLength()
    }

    mutating func add(_ type: UInt16, text: String) { self.add(type, Array(text.utf8) + [0]) }

    mutating func add(_ type: UInt16, word: UInt32) { self.add(type, MessageBuilder.bytes(word)) }

    private mutating func append(_ value: some FixedWidthInteger) { self.bytes += MessageBuilder.bytes(value) }

    private mutating func setLength() {
        self.bytes.replaceSubrange(0..<4, with: MessageBuilder.bytes(UInt32(self.bytes.count)))
    }

    static func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
}

extension MessageDecoder {
    /// Every message of a datagram.
    static func decode(_ datagram: [UInt8]) -> [NetlinkEnvelope] {
        var envelopes: [NetlinkEnvelope] = []
        datagram.withUnsafeBytes { self.decode($0) { envelopes.append($0) } }
        return envelopes
    }
}
