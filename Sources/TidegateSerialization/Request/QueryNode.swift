internal import FoundationEssentials

/// Parameters as a query sees them.
enum QueryNode {
    case null
    case bool(Bool)
    /// A string, or a number as it is written.
    case text(String)
    case data(Data)
    case box(QueryBox)
}

/// One name of a query with its value, before anything is percent-encoded.
struct QueryPair {
    enum Value {
        case none
        case text(String)
        case data(Data)
    }

    let name: String
    let value: Value
}

extension QueryNode {
    /// Gives every pair of the query, names sorted by UTF-16 code unit at every level.
    func visit(_ encoding: QueryEncoding, below name: String, _ body: (QueryPair) -> Void) {
        switch self {
        case .null: body(QueryPair(name: name, value: .none))
        case .bool(let value): body(QueryPair(name: name, value: .text(encoding.bools.text(of: value))))
        case .text(let text): body(QueryPair(name: name, value: .text(text)))
        case .data(let data): body(QueryPair(name: name, value: .data(data)))
        case .box(let box): box.visit(encoding, below: name, body)
        }
    }

    /// The text of a number: whole ones without a fraction, as AFNetworking writes them.
    static func text(of number: Double) -> String {
        if number == 0 { return number.sign == .minus ? "-0" : "0" }
        return number == number.rounded() && abs(number) < 1e16 ? String(Int64(number)) : String(number)
    }
}

extension QueryBox {
    /// As ``QueryNode/visit(_:below:_:)``; the outermost box has no name.
    func visit(_ encoding: QueryEncoding, below name: String?, _ body: (QueryPair) -> Void) {
        switch self.content {
        case .leaf(let node): node.visit(encoding, below: name ?? "", body)
        case .array(let nodes):
            for (index, node) in nodes.enumerated() {
                node.visit(encoding, below: encoding.arrays.name(name ?? "", index), body)
            }
        case .set(let nodes):
            var elements = nodes.map { node in
                var pairs: [QueryPair] = []
                node.visit(encoding, below: name ?? "") { pairs.append($0) }
                return (key: QueryPair.order(of: pairs), pairs: pairs)
            }
            elements.sort { $0.key < $1.key }
            for element in elements { element.pairs.forEach(body) }
        case .object(let members):
            for index in NameOrder.indices(of: members.map(\.name)) {
                let own = members[index].name
                members[index].node.visit(
                    encoding, below: name.map { encoding.keyPaths.name($0, own) } ?? own, body)
            }
        }
    }
}

extension QueryPair {
    fileprivate static func order(of pairs: [QueryPair]) -> String {
        pairs.map { pair in
            switch pair.value {
            case .none: pair.name
            case .text(let text): pair.name + "=" + text
            case .data(let data): pair.name + "=" + data.base64EncodedString()
            }
        }.joined(separator: "&")
    }
}

/// The order of names by their UTF-16 code units.
private enum NameOrder {
    static func indices(of names: [String]) -> [Int] {
        // Most names differ within eight bytes after what all begin with; comparing those touches no string.
        let shared = NameOrder.sharedLength(of: names)
        var keys = names.indices.map { (start: NameOrder.start(of: names[$0], after: shared), index: $0) }
        keys.sort { left, right in
            left.start == right.start
                ? NameOrder.precedes(names[left.index], names[right.index]) : left.start < right.start
        }
        return keys.map(\.index)
    }

    /// How many bytes all names begin with.
    private static func sharedLength(of names: [String]) -> Int {
        guard let first = names.first else { return 0 }
        let bytes = first.utf8Span.span
        return names.reduce(bytes.count) { length, name in
            let other = name.utf8Span.span
            let limit = min(length, other.count)
            return (0..<limit).first { bytes[$0] != other[$0] } ?? limit
        }
    }

    /// The first eight bytes after those, as a number that has the names' order.
    private static func start(of name: String, after shared: Int) -> UInt64 {
        let bytes = name.utf8Span.span
        return (shared..<shared + 8).reduce(0) { start, index in
            start << 8 | (index < bytes.count ? UInt64(NameOrder.rank(bytes[index])) : 0)
        }
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8Span.span, right.utf8Span.span)
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return NameOrder.rank(left[index]) < NameOrder.rank(right[index])
        }
        return left.count < right.count
    }

    /// UTF-8 has the order of UTF-16 but for the surrogates of characters from U+10000 on: they come before U+E000 to
    /// U+FFFF, whose first bytes are 0xEE and 0xEF.
    private static func rank(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }
}
