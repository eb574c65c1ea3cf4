internal import TidegateCore

/// The query of a request target, decoded as HTML forms encode it.
///
/// Hummingbird's own decodes neither names nor `+`, and Prometheus may write `name%5B%5D`.
struct QueryParameters: Sendable {
    private let pairs: [(name: String, value: String)]

    /// The query of a request target: what follows its first question mark.
    init(target: String) {
        let query = target.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        self.pairs = query.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count == 2 ? Self.decoded(parts[1]) : "")
        }
    }

    /// Every value of `name`, in the order of the query.
    func values(of name: String) -> [String] { self.pairs.filter { $0.name == name }.map(\.value) }

    private static func decoded(_ text: Substring.UTF8View) -> String {
        let bytes = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(decoding: PercentEncoding.decode(bytes), as: UTF8.self)
    }
}
