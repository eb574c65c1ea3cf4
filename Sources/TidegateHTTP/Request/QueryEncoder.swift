internal import FoundationEssentials

/// Receives what an `Encodable` value encodes.
///
/// Large parameters mostly consist of leaves, which need neither an object nor a path.
final class QueryBox {
    enum Content {
        case leaf(QueryPair.Value)
        case object([(name: String, node: QueryNode)])
        case array([QueryNode], isSet: Bool)
    }

    let encoding: QueryEncoding
    // A value that encodes nothing is an object without members.
    private(set) var content = Content.object([])
    /// The parent value and the key in it; the path is computed from them when it is needed.
    private let place: (parent: QueryBox, key: any CodingKey)?

    private init(_ encoding: QueryEncoding, in place: (parent: QueryBox, key: any CodingKey)?) {
        self.encoding = encoding
        self.place = place
    }

    /// Encodes a value.
    convenience init(_ value: any Encodable, _ encoding: QueryEncoding) throws {
        self.init(encoding, in: nil)
        try self.set(value)
    }

    var path: [any CodingKey] { self.place.map { $0.parent.path + [$0.key] } ?? [] }

    var isObject: Bool { if case .object = self.content { true } else { false } }

    var count: Int { if case .array(let nodes, _) = self.content { nodes.count } else { 0 } }

    func becomeArray() { if case .object = self.content { self.content = .array([], isSet: false) } }

    func setNull() { self.content = .leaf(.none) }

    func set(_ value: some Encodable) throws {
        if let leaf = try QueryBox.leaf(value, at: self.path, self.encoding) {
            self.content = .leaf(leaf)
        } else {
            try self.encode(value)
        }
    }

    private func encode(_ value: some Encodable) throws {
        if value is any SetOfParameters { self.content = .array([], isSet: true) }
        try value.encode(to: QueryEncoder(box: self))
    }

    // MARK: - Members and elements

    func append(_ value: some Encodable, for key: some CodingKey) throws {
        if let leaf = try QueryBox.leaf(value, at: self.path + [key], self.encoding) {
            self.append(.leaf(leaf), for: key)
        } else {
            let box = QueryBox(self.encoding, in: (self, key))
            try box.encode(value)
            self.append(.box(box), for: key)
        }
    }

    /// The encoder of a new member or element.
    func nested(_ key: some CodingKey) -> QueryEncoder {
        let box = QueryBox(self.encoding, in: (self, key))
        self.append(.box(box), for: key)
        return QueryEncoder(box: box)
    }

    func append(_ node: QueryNode, for key: some CodingKey) {
        // With a single reference, an array grows in place.
        switch self.content {
        case .object(var members):
            self.content = .leaf(.none)
            members.append((key.stringValue, node))
            self.content = .object(members)
        case .array(var nodes, let isSet):
            self.content = .leaf(.none)
            nodes.append(node)
            self.content = .array(nodes, isSet: isSet)
        case .leaf: break
        }
    }

    // Types that a query writes in a special way; nil for all others.
    private static func leaf(
        _ value: some Encodable, at path: @autoclosure () -> [any CodingKey], _ encoding: QueryEncoding
    ) throws -> QueryPair.Value? {
        switch value {
        case let value as String: return .text(value)
        case let value as Bool: return .text(encoding.bools.text(of: value))
        case let value as any BinaryInteger: return .text("\(value)")
        case let value as Double: return try self.number(value, "\(value)", at: path())
        case let value as Float: return try self.number(Double(value), "\(value)", at: path())
        case let value as Date: return .text(encoding.dates.text(of: value))
        case let value as Decimal: return .text("\(value)")
        case let value as URL: return .text(value.absoluteString)
        case let value as Data:
            if case .deferred = encoding.data { return nil }
            return .data(value)
        default: return nil
        }
    }

    // Whole numbers have no fraction, as in AFNetworking.
    private static func number(_ value: Double, _ text: String, at path: [any CodingKey]) throws -> QueryPair.Value {
        guard value.isFinite else { throw RequestSerializationError.notFinite(path: path.text) }
        if value == 0 { return .text(value.sign == .minus ? "-0" : "0") }
        return .text(value == value.rounded() && abs(value) < 1e16 ? String(Int64(value)) : text)
    }

    // MARK: - Reading

    /// Like ``QueryNode/visit(_:below:_:)``; the outermost box has no name.
    func visit(_ encoding: QueryEncoding, below name: String?, _ body: (QueryPair) -> Void) {
        switch self.content {
        case .leaf(let value): body(QueryPair(name: name ?? "", value: value))
        case .array(let nodes, isSet: false):
            for (index, node) in nodes.enumerated() {
                node.visit(encoding, below: encoding.arrays.name(name ?? "", index), body)
            }
        case .array(let nodes, isSet: true):
            var elements = nodes.map { node in
                var pairs: [QueryPair] = []
                node.visit(encoding, below: name ?? "") { pairs.append($0) }
                return (key: pairs.map(\.text).joined(separator: "&"), pairs: pairs)
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

/// Parameters in the structure of a query.
enum QueryNode {
    case leaf(QueryPair.Value)
    case box(QueryBox)

    /// Passes every pair of the query to `body`, with names sorted by UTF-16 code unit at every level.
    func visit(_ encoding: QueryEncoding, below name: String, _ body: (QueryPair) -> Void) {
        switch self {
        case .leaf(let value): body(QueryPair(name: name, value: value))
        case .box(let box): box.visit(encoding, below: name, body)
        }
    }
}

/// A name in a query with its value, before percent-encoding.
struct QueryPair {
    enum Value {
        case none
        /// A string, a number or a boolean, as text.
        case text(String)
        case data(Data)
    }

    let name: String
    let value: Value

    fileprivate var text: String {
        switch self.value {
        case .none: self.name
        case .text(let text): self.name + "=" + text
        case .data(let data): self.name + "=" + data.base64EncodedString()
        }
    }
}

/// The order of names by their UTF-16 code units.
private enum NameOrder {
    static func indices(of names: [String]) -> [Int] {
        // Most names differ within eight bytes after their common prefix; comparing those bytes touches no string.
        let shared = NameOrder.sharedLength(of: names)
        var keys = names.indices.map { (start: NameOrder.start(of: names[$0], after: shared), index: $0) }
        keys.sort { left, right in
            left.start == right.start
                ? NameOrder.precedes(names[left.index], names[right.index]) : left.start < right.start
        }
        return keys.map(\.index)
    }

    /// The length of the names' common prefix in bytes.
    private static func sharedLength(of names: [String]) -> Int {
        guard let first = names.first else { return 0 }
        let bytes = first.utf8Span.span
        return names.reduce(bytes.count) { length, name in
            let other = name.utf8Span.span
            let limit = min(length, other.count)
            return (0..<limit).first { bytes[$0] != other[$0] } ?? limit
        }
    }

    /// The next eight bytes as a number with the same order as the names.
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

    /// UTF-8 sorts like UTF-16, except that surrogates of characters from U+10000 sort before U+E000 to U+FFFF.
    ///
    /// The first bytes of the latter are 0xEE and 0xEF.
    private static func rank(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }
}

/// Marks a type as a set, because its encoding looks like an array's.
private protocol SetOfParameters {}
extension Set: SetOfParameters {}

struct QueryEncoder: Encoder {
    let box: QueryBox
    var codingPath: [any CodingKey] { self.box.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(QueryObject<Key>(box: self.box))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.box.becomeArray()
        return QueryArray(box: self.box)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { QueryLeaf(box: self.box) }
}

private struct QueryKey: CodingKey {
    let intValue: Int?
    private let text: String?
    var stringValue: String { self.text ?? self.intValue.map(String.init) ?? "" }

    init(_ index: Int) { (self.text, self.intValue) = (nil, index) }
    init(stringValue: String) { (self.text, self.intValue) = (stringValue, nil) }
    init?(intValue: Int) { self.init(intValue) }
}

private struct QueryObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let box: QueryBox
    var codingPath: [any CodingKey] { self.box.path }

    func encodeNil(forKey key: Key) { self.box.append(.leaf(.none), for: key) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try self.box.append(value, for: key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { self.box.nested(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        self.box.nested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { self.box.nested(QueryKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { self.box.nested(key) }
}

private struct QueryArray: UnkeyedEncodingContainer {
    let box: QueryBox
    var codingPath: [any CodingKey] { self.box.path }
    var count: Int { self.box.count }
    private var next: QueryKey { QueryKey(self.count) }

    func encodeNil() { self.box.append(.leaf(.none), for: self.next) }
    func encode(_ value: some Encodable) throws { try self.box.append(value, for: self.next) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        self.box.nested(self.next).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        self.box.nested(self.next).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { self.box.nested(self.next) }
}

private struct QueryLeaf: SingleValueEncodingContainer {
    let box: QueryBox
    var codingPath: [any CodingKey] { self.box.path }

    func encodeNil() { self.box.setNull() }
    func encode(_ value: some Encodable) throws { try self.box.set(value) }
}
