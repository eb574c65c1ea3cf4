internal import FoundationEssentials
internal import TidegateCore

/// What an `Encodable` value gives, while it gives it.
final class QueryBox {
    private enum Content {
        case leaf(QueryNode)
        case keyed([(name: String, box: QueryBox)])
        case unkeyed([QueryBox])
    }

    private var content: Content
    private var isSet = false

    private init(_ content: Content) { self.content = content }

    /// Encodes a value.
    init(_ value: any Encodable, at path: [any CodingKey], _ encoding: QueryEncoding) throws {
        // A value that encodes nothing is an object without members.
        self.content = .keyed([])
        if let node = try QueryBox.leaf(value, at: path, encoding) {
            self.content = .leaf(node)
        } else {
            self.isSet = value is any SetOfParameters
            try value.encode(to: QueryEncoder(self, at: path, encoding))
        }
    }

    var node: QueryNode {
        switch self.content {
        case .leaf(let node): node
        case .keyed(let members): .object(members.map { ($0.name, $0.box.node) })
        case .unkeyed(let boxes): self.isSet ? .set(boxes.map(\.node)) : .array(boxes.map(\.node))
        }
    }

    var count: Int { if case .unkeyed(let boxes) = self.content { boxes.count } else { 0 } }

    func becomeUnkeyed() { if case .unkeyed = self.content {} else { self.content = .unkeyed([]) } }

    func set(_ other: QueryBox) {
        self.content = other.content
        self.isSet = other.isSet
    }

    func set(_ node: QueryNode) { self.content = .leaf(node) }

    func append(_ box: QueryBox) {
        guard case .unkeyed(var boxes) = self.content else { return }
        // Held by nothing else, the array grows in place.
        self.content = .leaf(.null)
        boxes.append(box)
        self.content = .unkeyed(boxes)
    }

    func append(_ box: QueryBox, named name: String) {
        guard case .keyed(var members) = self.content else { return }
        self.content = .leaf(.null)
        members.append((name, box))
        self.content = .keyed(members)
    }

    static func empty() -> QueryBox { QueryBox(.keyed([])) }
    static func null() -> QueryBox { QueryBox(.leaf(.null)) }

    // The types that a query writes in its own way; nil for all others.
    private static func leaf(
        _ value: any Encodable, at path: [any CodingKey], _ encoding: QueryEncoding
    ) throws -> QueryNode? {
        switch value {
        case let value as String: return .text(value)
        case let value as Bool: return .bool(value)
        case let value as any BinaryInteger: return .text("\(value)")
        case let value as Double: return try self.number(value, "\(value)", at: path)
        case let value as Float: return try self.number(Double(value), "\(value)", at: path)
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

private struct QueryEncoder: Encoder {
    let box: QueryBox
    let codingPath: [any CodingKey]
    let encoding: QueryEncoding
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ box: QueryBox, at path: [any CodingKey], _ encoding: QueryEncoding) {
        self.box = box
        self.codingPath = path
        self.encoding = encoding
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(QueryObject<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.box.becomeUnkeyed()
        return QueryArray(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { QueryLeaf(encoder: self) }

    /// The encoder of a value below this one.
    func nested(_ box: QueryBox, _ key: any CodingKey) -> QueryEncoder {
        QueryEncoder(box, at: self.codingPath + [key], self.encoding)
    }
}

private struct QueryKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) { (self.stringValue, self.intValue) = ("\(index)", index) }
    init(stringValue: String) { (self.stringValue, self.intValue) = (stringValue, nil) }
    init?(intValue: Int) { self.init(intValue) }
}

private struct QueryObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { self.encoder.codingPath }

    func encodeNil(forKey key: Key) { self.encoder.box.append(.null(), named: key.stringValue) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        self.encoder.box.append(
            try QueryBox(value, at: self.codingPath + [key], self.encoder.encoding), named: key.stringValue)
    }

    private func nested(_ key: any CodingKey) -> QueryEncoder {
        let box = QueryBox.empty()
        self.encoder.box.append(box, named: key.stringValue)
        return self.encoder.nested(box, key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { self.nested(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        self.nested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { self.nested(QueryKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { self.nested(key) }
}

private struct QueryArray: UnkeyedEncodingContainer {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { self.encoder.codingPath }
    var count: Int { self.encoder.box.count }

    func encodeNil() { self.encoder.box.append(.null()) }

    func encode(_ value: some Encodable) throws {
        self.encoder.box.append(
            try QueryBox(value, at: self.codingPath + [QueryKey(self.count)], self.encoder.encoding))
    }

    private func nested() -> QueryEncoder {
        let (box, key) = (QueryBox.empty(), QueryKey(self.count))
        self.encoder.box.append(box)
        return self.encoder.nested(box, key)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        self.nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self.nested().unkeyedContainer() }
    func superEncoder() -> any Encoder { self.nested() }
}

private struct QueryLeaf: SingleValueEncodingContainer {
    let encoder: QueryEncoder
    var codingPath: [any CodingKey] { self.encoder.codingPath }

    func encodeNil() { self.encoder.box.set(.null) }

    func encode(_ value: some Encodable) throws {
        self.encoder.box.set(try QueryBox(value, at: self.codingPath, self.encoder.encoding))
    }
}
