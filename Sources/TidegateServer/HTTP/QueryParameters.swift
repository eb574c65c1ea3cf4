/// The query of a request target, decoded as HTML forms encode it.
///
/// Hummingbird's own decodes neither names nor `+`, and Prometheus may write `name%5B%5D`.
struct QueryParameters: Sendable {
    private let pairs: [(name: String, value: String)]

    /// The query of a request target: what follows its first question mark.
    init(target: String) {
        let query = target.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
        self.pairs = query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count == 2 ? Self.decoded(parts[1]) : "")
        }
    }

    /// Every value of `name`, in the order of the query.
    func values(of name: String) -> [String] { self.pairs.filter { $0.name == name }.map(\.value) }

    // RFC 3986 2.1, and `+` for a space; an invalid escape stays as it is.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = self.escaped(rest.prefix(2)) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escaped(_ digits: Substring.UTF8View.SubSequence) -> UInt8? {
        guard digits.count == 2, let text = String(digits), text.allSatisfy(\.isHexDigit) else { return nil }
        return UInt8(text, radix: 16)
    }
}
