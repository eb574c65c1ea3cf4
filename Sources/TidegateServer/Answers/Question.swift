/// What the endpoint looks at in a request.
struct Question: Sendable {
    /// The method, in its own spelling.
    let method: String
    /// The path without its query.
    let path: String
    /// The query's values by name, decoded, in their order.
    let query: [(name: String, value: String)]
    /// The `Accept` header.
    let accept: String?
    /// The `Accept-Encoding` header.
    let acceptEncoding: String?
    /// The `Last-Event-ID` header; nil where it is empty or absent.
    let lastEventID: String?

    init(
        method: String, target: String, accept: String? = nil, acceptEncoding: String? = nil,
        lastEventID: String? = nil
    ) {
        self.method = method
        let whole = target.prefix { $0 != "#" }
        self.path = String(whole.prefix { $0 != "?" })
        self.query = Question.pairs(whole.drop { $0 != "?" }.dropFirst())
        self.accept = accept
        self.acceptEncoding = acceptEncoding
        self.lastEventID = lastEventID?.isEmpty == true ? nil : lastEventID
    }

    /// Every value that the query gives `name`.
    func values(of name: String) -> [String] { self.query.filter { $0.name == name }.map(\.value) }

    private static func pairs(_ query: Substring) -> [(name: String, value: String)] {
        query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (self.decoded(parts[0]), parts.count == 2 ? self.decoded(parts[1]) : "")
        }
    }

    // RFC 3986 2.1, and `+` as forms have it; what is no escape stays as it is.
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
