public import HTTPTypes
internal import TidegateCore

/// A request as a ``LiveServer`` received it.
public struct LiveServerRequest: Sendable {
    /// The request method.
    public var method: String
    /// The request target, with its query.
    public var path: String
    /// The fields in order.
    public var fields: [HTTPField]
    /// The body.
    public var body: [UInt8] = []
    /// The connection's number, from 1.
    public var connection: Int
    /// The request's number on this server, from 1.
    public var number = 0

    /// The first field with the name, ignoring case.
    public func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { name in self.fields.first { $0.name == name }?.value }
    }

    /// N of `Range: bytes=N-`.
    public var rangeStart: Int64? {
        guard let range = self.field("range"), range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        return Int64(range.dropFirst(6).dropLast())
    }

    /// Parses a head without its final empty line; nil if it is malformed.
    init?(head: [UInt8], connection: Int) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let parts = lines.first?.split(separator: " ") ?? []
        guard parts.count == 3 else { return nil }
        self.method = String(parts[0])
        self.path = String(parts[1])
        self.connection = connection
        self.fields = lines.dropFirst().compactMap { try? HTTPField(parsing: String($0)) }
    }
}
