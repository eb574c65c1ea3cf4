internal import TidegateCore

/// A CEL value.
///
/// Strings are UTF-8 bytes, so that they are compared by code point; Swift's strings also treat canonically equivalent
/// texts as equal.
enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string([UInt8])
    case bytes([UInt8])
    case timestamp(Timestamp)
    /// In nanoseconds.
    case duration(Int64)
    case type(ValueType)
    case list([Value])
    case map([MapKey: Value])

    /// A JSON document; all its numbers are doubles, and the last of several members with the same name counts.
    init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let number): self = .double(Double(number))
        case .number(let number): self = .double(number)
        case .string(let text): self = .string(Array(text.utf8))
        case .array(let elements): self = .list(elements.map(Value.init))
        case .object(let members):
            self = .map(
                Dictionary(members.map { (MapKey.string(Array($0.name.utf8)), Value($0.value)) }) { _, last in last })
        }
    }

    /// The value's type; lists and maps have it without the types of their contents.
    var type: ValueType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .duration: .duration
        case .type: .type
        case .list: .list(.dynamic)
        case .map: .map(key: .dynamic, value: .dynamic)
        }
    }
}

/// A key of a map; equal numbers of different types are the same key.
enum MapKey: Sendable, Hashable {
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case string([UInt8])

    /// The key for a value; nil if its type cannot be a key, or if it is not a whole number.
    init?(_ value: Value) {
        switch value {
        case .bool(let value): self = .bool(value)
        case .int(let number): self = .int(number)
        case .uint(let number): self = .uint(number)
        case .double(let number):
            guard let whole = Int64(exactly: number) else {
                guard let large = UInt64(exactly: number) else { return nil }
                self = .uint(large)
                return
            }
            self = .int(whole)
        case .string(let text): self = .string(text)
        default: return nil
        }
    }

    /// The key as a value.
    var value: Value {
        switch self {
        case .bool(let value): .bool(value)
        case .int(let number): .int(number)
        case .uint(let number): .uint(number)
        case .string(let text): .string(text)
        }
    }

    static func == (left: MapKey, right: MapKey) -> Bool {
        switch (left, right) {
        case (.bool(let one), .bool(let other)): one == other
        case (.int(let one), .int(let other)): one == other
        case (.uint(let one), .uint(let other)): one == other
        case (.int(let one), .uint(let other)), (.uint(let other), .int(let one)): one == other
        case (.string(let one), .string(let other)): one == other
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .bool(let value): hasher.combine(value)
        case .int(let number): hasher.combine(UInt64(bitPattern: number))
        case .uint(let number): hasher.combine(number)
        case .string(let text): hasher.combine(text)
        }
    }
}

/// The type of an expression, unless it depends on values.
indirect enum ValueType: Sendable, Hashable {
    /// Known only once there is a value.
    case dynamic
    case null, bool, int, uint, double, string, bytes, timestamp, duration
    /// The type of types.
    case type
    case list(ValueType)
    case map(key: ValueType, value: ValueType)
    /// A type variable of an overload: any type, but the same one wherever the name occurs.
    case variable(Character)

    /// The name of a type in expressions; lists and maps have it without the types of their elements.
    var name: String {
        switch self {
        case .dynamic: "dyn"
        case .null: "null_type"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "google.protobuf.Timestamp"
        case .duration: "google.protobuf.Duration"
        case .type: "type"
        case .list: "list"
        case .map: "map"
        case .variable(let name): String(name)
        }
    }

    /// The types with names in expressions.
    static let named: [ValueType] = [
        .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type, .list(.dynamic),
        .map(key: .dynamic, value: .dynamic),
    ]

    /// The common type of two values.
    func joined(with other: ValueType) -> ValueType { self == other ? self : .dynamic }

    /// The common type of several values.
    static func common(of types: [ValueType]) -> ValueType {
        types.dropFirst().reduce(types.first ?? .dynamic) { $0.joined(with: $1) }
    }
}
