/// Builds netlink messages byte by byte, lies included.
enum RawMessage {
    static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// struct nlmsghdr, then the body; the length is the truth unless said otherwise.
    static func make(_ type: UInt16, length: UInt32? = nil, _ body: [UInt8]) -> [UInt8] {
        self.bytes(length ?? UInt32(16 + body.count)) + self.bytes(type) + self.bytes(UInt16(0))
            + self.bytes(UInt32(7)) + self.bytes(UInt32(0)) + body
    }

    /// struct ifinfomsg about link 77, down, with all flags changed or none.
    static func link(family: UInt8 = 0, change: UInt32 = .max) -> [UInt8] {
        [family, 0] + self.bytes(UInt16(1)) + self.bytes(Int32(77)) + self.bytes(UInt32(0)) + self.bytes(change)
    }
}
