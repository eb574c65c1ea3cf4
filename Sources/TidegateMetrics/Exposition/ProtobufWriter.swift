/// Writes protobuf's wire format: tags, varints, and messages whose length is only known at their end.
package struct ProtobufWriter: Sendable {
    package private(set) var bytes: [UInt8]

    /// Appends to `buffer`.
    package init(_ buffer: consuming [UInt8] = []) {
        self.bytes = buffer
    }

    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// An unsigned number or an enumeration value.
    package mutating func number(_ field: Int, _ value: UInt64) {
        self.tag(field, 0)
        self.varint(value)
    }

    /// A zigzag-encoded signed number (sint32, sint64).
    mutating func signed(_ field: Int, _ value: Int64) {
        self.number(field, ProtobufWriter.zigzag(value))
    }

    /// A signed number as int64, which Timestamp uses; negative numbers are long.
    package mutating func plain(_ field: Int, _ value: Int64) {
        self.number(field, UInt64(bitPattern: value))
    }

    package mutating func double(_ field: Int, _ value: Double) {
        self.tag(field, 1)
        for shift in stride(from: 0, to: 64, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> UInt64(shift)))
        }
    }

    package mutating func string(_ field: Int, _ text: String) {
        self.tag(field, 2)
        self.varint(UInt64(text.utf8.count))
        self.bytes += text.utf8
    }

    /// Packed signed numbers in one field.
    mutating func packedSigned(_ field: Int, _ values: some Collection<Int64>) {
        self.message(field) { for value in values { $0.varint(ProtobufWriter.zigzag(value)) } }
    }

    /// Bytes that are already in this format.
    package mutating func raw(_ bytes: [UInt8]) { self.bytes += bytes }

    /// Writes a nested message as a field.
    package mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        self.tag(field, 2)
        let start = self.openDelimited()
        body(&self)
        self.close(start)
    }

    /// Begins a length-prefixed message without a tag; returns the position of its content.
    mutating func openDelimited() -> Int {
        // Most messages are shorter than 128 bytes, so that nothing has to be moved.
        self.bytes.append(0)
        return self.bytes.count
    }

    /// Ends the message whose content starts at `start`.
    mutating func close(_ start: Int) {
        let count = UInt64(self.bytes.count - start)
        guard count >= 0x80 else { return self.bytes[start - 1] = UInt8(truncatingIfNeeded: count) }
        var length = ProtobufWriter()
        length.varint(count)
        self.bytes.replaceSubrange(start - 1..<start, with: length.bytes)
    }

    /// Removes the message whose content starts at `start`, including its length; for length-prefixed messages only.
    mutating func discard(_ start: Int) {
        self.bytes.removeLast(self.bytes.count - start + 1)
    }

    private mutating func tag(_ field: Int, _ wire: UInt64) {
        self.varint(UInt64(field) << 3 | wire)
    }

    private static func zigzag(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: (value << 1) ^ (value >> 63))
    }
}
