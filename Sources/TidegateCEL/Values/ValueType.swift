/// The type of an expression, as far as it is known before there are values.
indirect enum ValueType: Sendable, Hashable {
    /// Known only when the value is there.
    case dynamic
    case null, bool, int, uint, double, string, bytes, timestamp, duration
    /// The type of types.
    case type
    case list(ValueType)
    case map(key: ValueType, value: ValueType)
    /// Stands in an overload for any type, the same one wherever it has this name.
    case variable(Character)

    /// The name of a type in expressions; that of lists and maps is without their elements'.
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

    /// The types that have names in expressions.
    static let named: [ValueType] = [
        .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type, .list(.dynamic),
        .map(key: .dynamic, value: .dynamic),
    ]

    /// The type that values of both have.
    func joined(with other: ValueType) -> ValueType { self == other ? self : .dynamic }
}
