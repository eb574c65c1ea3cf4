internal import FoundationEssentials

/// What an `Encodable` value gives, while it gives it.
///
/// Large parameters are mostly leaves, which have no object and no path of their own.
final class QueryBox {
    enum Content {
        case leaf(QueryNode)
        case object([(name: String, node: QueryNode)])
        case array([QueryNode])
        case set([QueryNode])
    }

    let encoding: QueryEncoding
    // A value that encodes nothing is an object without members.
    private(set) var content = Content.object([])
    /// The value that this one belongs to, and its key there; the path is made of them once it is wanted.
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

    var count: Int {
        switch self.content {
        case .array(let nodes), .set(let nodes): nodes.count
        case .leaf, .object: 0
        }
    }

    func becomeArray() { if case .object = self.content { self.content = .array([]) } }

    func setNull() { self.content = .leaf(.null) }

    func set(_ value: some Encodable) throws {
        if let node = try QueryBox.leaf(value, at: self.path, self.encoding) {
            self.content = .leaf(node)
        } else {
            if value is any SetOfParameters { self.content = .set([]) }
            try value.encode(to: QueryEncoder(box: self))
        }
    }

    // MARK: - Members and elements

    func append(_ value: some Encodable, for key: some CodingKey) throws {
        self.append(try self.node(of: value, for: key), named: key.stringValue)
    }

    func append(_ value: some Encodable) throws {
        let key = QueryKey(self.count)
        self.append(try self.node(of: value, for: key))
    }

    func appendNull(for key: some CodingKey) { self.append(.null, named: key.stringValue) }
    func appendNull() { self.append(.null) }

    /// The encoder of a new member.
    func nested(_ key: some CodingKey) -> QueryEncoder {
        let box = QueryBox(self.encoding, in: (self, key))
        self.append(.box(box), named: key.stringValue)
        return QueryEncoder(box: box)
    }

    /// The encoder of a new element.
    func nested() -> QueryEncoder {
        let box = QueryBox(self.encoding, in: (self, QueryKey(self.count)))
        self.append(.box(box))
        return QueryEncoder(box: box)
    }

    private func node(of value: some Encodable, for key: some CodingKey) throws -> QueryNode {
        if let node = try QueryBox.leaf(value, at: self.path + [key], self.encoding) { return node }
        let box = QueryBox(self.encoding, in: (self, key))
        if value is any SetOfParameters { box.content = .set([]) }
        try value.encode(to: QueryEncoder(box: box))
        return .box(box)
    }

    // Held by nothing else, an array grows in place.
    private func append(_ node: QueryNode) {
        switch self.content {
        case .array(var nodes):
            self.content = .leaf(.null)
            nodes.append(node)
            self.content = .array(nodes)
        case .set(var nodes):
            self.content = .leaf(.null)
            nodes.append(node)
            self.content = .set(nodes)
        case .leaf, .object: break
        }
    }

    private func append(_ node: QueryNode, named name: String) {
        guard case .object(var members) = self.content else { return }
        self.content = .leaf(.null)
        members.append((name, node))
        self.content = .object(members)
    }

    // The types that a query writes in its own way; nil for all others.
    private static func leaf(
        _ value: some Encodable, at path: @autoclosure () -> [any CodingKey], _ encoding: QueryEncoding
    ) throws -> QueryNode? {
        switch value {
        case let value as String: return .text(value)
        case let value as Bool: return .bool(value)
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

    private static func number(_ value: Double, _ text: String, at path: [any CodingKey]) throws -> QueryNode {
        guard value.isFinite else { throw RequestSerializationError.notFinite(path: path.text) }
        let isWhole = value == value.rounded() && abs(value) < 1e16
        return .text(isWhole ? QueryNode.text(of: value) : text)
    }
}

/// A set says of itself that it is one: its encoding looks like an array's.
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

    func encodeNil(forKey key: Key) { self.box.appendNull(for: key) }
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

    func encodeNil() { self.box.appendNull() }
    func encode(_ value: some Encodable) throws { try self.box.append(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        self.box.nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self.box.nested().unkeyedContainer() }
    func superEncoder() -> any Encoder { self.box.nested() }
}

private struct QueryLeaf: SingleValueEncodingContainer {
    let box: QueryBox
    var codingPath: [any CodingKey] { self.box.path }

    func encodeNil() { self.box.setNull() }
    func encode(_ value: some Encodable) throws { try self.box.set(value) }
}
