internal import TidegateSession

/// A message head as sent on the wire: its first line and its fields.
struct MessageHead: Sendable {
    var start: String
    var fields: [(name: String, value: String)]
    /// Its length, including line ends and the empty line.
    var size: Int

    init(_ lines: [String]) {
        self.start = lines.first ?? ""
        self.fields = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            return (String(line[..<colon]), String(value))
        }
        self.size = lines.reduce(2) { $0 + $1.utf8.count + 2 }
    }

    /// The value of the first field with this lower-case name; nil without one.
    func first(_ name: String) -> String? { self.fields.first { $0.name.lowercased() == name }?.value }

    /// The protocol version as written, such as `HTTP/1.1`; may be empty.
    var version: String {
        let parts = self.start.split(separator: " ")
        return parts.first { $0.hasPrefix("HTTP/") }.map(String.init) ?? ""
    }

    /// The reason phrase of a status line.
    var reason: String {
        self.start.split(separator: " ", maxSplits: 2).dropFirst(2).first.map(String.init) ?? ""
    }

    /// The status in a status line; nil for other lines.
    var status: Int? {
        guard self.start.hasPrefix("HTTP/") else { return nil }
        return self.start.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
}

extension Exchange {
    /// The head of the request as sent; nil if none was sent.
    var requestHead: MessageHead? { self.heads(.sent).last { !$0.start.hasPrefix("CONNECT ") } }

    /// The head of the final response; nil if none arrived.
    var responseHead: MessageHead? { self.heads(.received).last { ($0.status ?? 0) >= 200 } }

    private func heads(_ kind: Line.Kind) -> [MessageHead] {
        let texts = self.lines.filter { $0.kind == kind }.map(\.text)
        return texts.split(separator: "", omittingEmptySubsequences: true).map { MessageHead(Array($0)) }
    }
}
