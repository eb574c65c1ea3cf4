/// What a task's gate requires of the path.
public enum Requirement: Sendable, Hashable, LosslessStringConvertible {
    /// Nothing: the gate is always open.
    case none
    /// The target itself is routed.
    case routed
    /// The internet check of the family in use succeeded.
    case online
    /// The path does not cost money.
    case unmetered
    /// The path leaves by this interface.
    case interface(String)

    /// The value on the command line and in YAML: `none`, `routed`, `online`, `unmetered`, `interface:NAME`.
    public var description: String {
        switch self {
        case .none: "none"
        case .routed: "routed"
        case .online: "online"
        case .unmetered: "unmetered"
        case .interface(let name): "interface:\(name)"
        }
    }

    /// Parses what ``description`` gives; nil for any other text.
    public init?(_ description: String) {
        switch description {
        case "none": self = .none
        case "routed": self = .routed
        case "online": self = .online
        case "unmetered": self = .unmetered
        default:
            let prefix = "interface:"
            guard description.hasPrefix(prefix), description.count > prefix.count else { return nil }
            self = .interface(String(description.dropFirst(prefix.count)))
        }
    }
}

extension Requirement: Codable {
    /// Reads the text that the configuration file has.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let requirement = Requirement(text) else {
            throw ConfigurationValueError(property: "gate.require", problem: "\"\(text)\" is not a requirement")
        }
        self = requirement
    }

    /// Writes the text that the configuration file has.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
