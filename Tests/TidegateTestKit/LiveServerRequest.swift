package import HTTPTypes
internal import TidegateCore

/// A request as a ``LiveServer`` received it.
package struct LiveServerRequest: Sendable {
    /// The request method.
    package var method: String
    /// The request target, with its query.
    package var path: String
    /// The fields in order.
    package var fields: [HTTPField]
    /// The body.
    package var body: [UInt8] = []
    /// The connection's number, from 1.
    package var connection: Int
    /// The request's number on this server, from 1.
    package var number = 0

    /// The first field with the name, ignoring case.
    package func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { name in self.fields.first { $0.name == name }?.value }
    }

    /// N of `Range: bytes=N-`.
    package var rangeStart: Int64? {
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
