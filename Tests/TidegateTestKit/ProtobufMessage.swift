/// A decoder of protobuf's wire format, written from its specification, independently of our encoder.
package struct ProtobufMessage {
    /// The bytes are not a message.
    package enum Fault: Error {
        /// The message is truncated.
        case truncated
        /// A field has an unknown wire type.
        case badWire
    }

    /// A field's value by its wire type.
    package enum Value {
        /// A varint.
        case number(UInt64)
        /// Eight bytes.
        case bits(UInt64)
        /// Bytes with their length: a text, a message, packed numbers.
        case bytes([UInt8])
    }

    /// The fields in their order.
    package private(set) var fields: [(number: Int, value: Value)] = []

    /// Reads one message.
    package init(_ bytes: some Collection<UInt8>) throws {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let key = try ProtobufMessage.varint(&rest)
            switch key & 7 {
            case 0: self.fields.append((Int(key >> 3), .number(try ProtobufMessage.varint(&rest))))
            case 1:
                guard rest.count >= 8 else { throw Fault.truncated }
                let bits = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                rest = rest.dropFirst(8)
                self.fields.append((Int(key >> 3), .bits(bits)))
            case 2: self.fields.append((Int(key >> 3), .bytes(try ProtobufMessage.chunk(&rest))))
            default: throw Fault.badWire
            }
        }
    }

    /// Reads messages that each have their length before them.
    package static func stream(_ bytes: [UInt8]) throws -> [ProtobufMessage] {
        var rest = bytes[...]
        var messages: [ProtobufMessage] = []
        while !rest.isEmpty { messages.append(try ProtobufMessage(self.chunk(&rest))) }
        return messages
    }

    /// The field's varints.
    package func numbers(_ field: Int) -> [UInt64] {
        self.fields.compactMap { if $0.number == field, case .number(let value) = $0.value { value } else { nil } }
    }

    /// The field's doubles.
    package func doubles(_ field: Int) -> [Double] {
        self.fields.compactMap {
            if $0.number == field, case .bits(let bits) = $0.value { Double(bitPattern: bits) } else { nil }
        }
    }

    /// The field's bytes.
    package func bytes(_ field: Int) -> [[UInt8]] {
        self.fields.compactMap { if $0.number == field, case .bytes(let value) = $0.value { value } else { nil } }
    }

    /// The field's texts.
    package func strings(_ field: Int) -> [String] { self.bytes(field).map { String(decoding: $0, as: UTF8.self) } }

    /// The field's messages; malformed ones are left out.
    package func messages(_ field: Int) -> [ProtobufMessage] {
        self.bytes(field).compactMap { try? ProtobufMessage($0) }
    }

    /// The number behind a zigzag.
    package static func signed(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// The numbers packed into one field.
    package static func packed(_ bytes: [UInt8]) throws -> [Int64] {
        var rest = bytes[...]
        var numbers: [Int64] = []
        while !rest.isEmpty { numbers.append(self.signed(try self.varint(&rest))) }
        return numbers
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) throws -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while let byte = bytes.popFirst() {
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
        }
        throw Fault.truncated
    }

    private static func chunk(_ bytes: inout ArraySlice<UInt8>) throws -> [UInt8] {
        let count = Int(try self.varint(&bytes))
        guard bytes.count >= count else { throw Fault.truncated }
        let chunk = Array(bytes.prefix(count))
        bytes = bytes.dropFirst(count)
        return chunk
    }
}
