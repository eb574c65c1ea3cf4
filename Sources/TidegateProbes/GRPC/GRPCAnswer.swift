internal import NIOHPACK
internal import TidegateCore

/// The server's answer to a call of one message, as far as it has come (gRPC over HTTP/2, "Responses").
struct GRPCAnswer {
    /// How many bytes a message may have; a health takes two.
    static let maxMessage = 65_536
    /// How much of a server's message is kept.
    private static let maxText = 200
    private static let prefix = 5

    private var status: Int?
    private var bytes: [UInt8] = []

    /// Takes a header section; returns the health once the answer is complete.
    mutating func receive(
        _ fields: HPACKHeaders, isEnd: Bool
    ) throws(GRPCError) -> HealthMessage.ServingStatus? {
        if self.status == nil {
            let status = Int(fields.first(name: ":status") ?? "") ?? 0
            guard status >= 200 || isEnd else { return nil }
            guard Self.isGRPC(fields) else { throw .http(status) }
            self.status = status
        }
        return isEnd ? try self.conclude(fields) : nil
    }

    /// Takes a part of the body.
    mutating func receive(_ part: some Sequence<UInt8>) throws(GRPCError) {
        self.bytes += part
        guard let length = self.length else { return }
        guard self.bytes[0] == 0 else { throw .malformed("is compressed, which was not asked for") }
        guard length <= Self.maxMessage else { throw .tooLarge }
        guard self.bytes.count <= length + Self.prefix else { throw .malformed("has more than one message") }
    }

    // The message's length, once it has come.
    private var length: Int? {
        guard self.bytes.count >= Self.prefix else { return nil }
        return self.bytes[1..<Self.prefix].reduce(0) { $0 << 8 | Int($1) }
    }

    private func conclude(_ fields: HPACKHeaders) throws(GRPCError) -> HealthMessage.ServingStatus {
        guard let field = fields.first(name: "grpc-status") else { throw .http(self.status ?? 0) }
        let status = GRPCStatus(field: field)
        guard status == .ok else {
            throw .status(status, message: Self.text(fields.first(name: "grpc-message") ?? ""))
        }
        guard let length = self.length, self.bytes.count == length + Self.prefix else {
            throw .malformed(self.bytes.isEmpty ? "has no message" : "ended in the middle of its message")
        }
        guard let health = HealthMessage.status(in: Array(self.bytes[Self.prefix...])) else {
            throw .malformed("is no HealthCheckResponse")
        }
        return health
    }

    private static func isGRPC(_ fields: HPACKHeaders) -> Bool {
        let (type, value) = ("application/grpc", fields.first(name: "content-type")?.lowercased() ?? "")
        guard value.hasPrefix(type) else { return false }
        return value.count == type.count || "+;".contains(value[value.index(value.startIndex, offsetBy: type.count)])
    }

    // The field `grpc-message`: UTF-8, of which some bytes are written as %XX.
    private static func text(_ field: String) -> String {
        let text = String(decoding: PercentEncoding.decode(field), as: UTF8.self).map {
            $0.isNewline || $0.isWhitespace ? " " : $0
        }
        return String(
            text.filter { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } }
                .prefix(Self.maxText))
    }
}
