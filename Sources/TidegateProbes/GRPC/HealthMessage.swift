/// The two messages of grpc.health.v1.Health/Check, as length-prefixed protobuf.
enum HealthMessage {
    /// The call's path.
    static let path = "/grpc.health.v1.Health/Check"

    /// The status that a service reports: the field `status` of a HealthCheckResponse.
    struct ServingStatus: Sendable, Hashable, CustomStringConvertible {
        let number: Int32

        static let serving = ServingStatus(number: 1)

        /// The statuses that the protocol names, in numeric order.
        static let known = (0..<Int32(names.count)).map(ServingStatus.init(number:))

        private static let names = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"]

        var description: String {
            Self.names.indices.contains(Int(self.number)) ? Self.names[Int(self.number)] : "\(self.number)"
        }
    }

    /// A HealthCheckRequest with its length prefix, as sent by a call.
    static func request(service: String) -> [UInt8] {
        let name = Array(service.utf8)
        // Field 1, length-delimited; the empty default is omitted.
        let message = name.isEmpty ? [] : [0x0A] + Self.varint(UInt64(name.count)) + name
        let length = UInt32(message.count)
        return [0] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + message
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), value)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// The status in a HealthCheckResponse; nil if the message is invalid.
    static func status(in message: [UInt8]) -> ServingStatus? {
        var (rest, number) = (message[...], UInt64(0))
        while !rest.isEmpty {
            guard let tag = Self.readVarint(&rest), tag >> 3 > 0, tag >> 3 < 1 << 29 else { return nil }
            switch tag & 7 {
            case 0:
                guard let value = Self.readVarint(&rest) else { return nil }
                // Of several values, the last one counts.
                if tag >> 3 == 1 { number = value }
            case 1:
                guard Self.skip(8, &rest) else { return nil }
            case 2:
                guard let count = Self.readVarint(&rest), Self.skip(count, &rest) else { return nil }
            case 5:
                guard Self.skip(4, &rest) else { return nil }
            default: return nil
            }
        }
        return ServingStatus(number: Int32(truncatingIfNeeded: number))
    }

    private static func readVarint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 70, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return value }
        }
        return nil
    }

    private static func skip(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard count <= UInt64(rest.count) else { return false }
        rest.removeFirst(Int(count))
        return true
    }
}
