public import TidegateCore

/// What an attempt waits for, and how long.
public struct GatePolicy: Sendable, Hashable, Codable {
    /// What must hold, all of it; an empty list requires nothing.
    public var require: [Requirement]
    /// How long a task waits at the gate in all, suspensions not counted; 0 or longer, nil is no limit.
    public var patience: Duration?

    /// A gate that is always open.
    public static let open = GatePolicy(require: [.none])

    /// A gate; by default it opens with the target's own route, and patience never ends.
    public init(require: [Requirement] = [.routed], patience: Duration? = nil) {
        self.require = require
        self.patience = patience
    }

    private enum CodingKeys: CodingKey {
        case require, patience
    }

    /// Reads a policy as it was encoded.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.require = try members.decode([String].self, forKey: .require).map { text in
            guard let requirement = Requirement(text) else {
                throw ConfigurationValueError(property: "gate.require", problem: "\"\(text)\" is not a requirement")
            }
            return requirement
        }
        self.patience = try members.decodeIfPresent(Duration.self, forKey: .patience)
    }

    /// Writes the requirements as the configuration file spells them.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.require.map(\.description), forKey: .require)
        try members.encodeIfPresent(self.patience, forKey: .patience)
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            self.patience.map { $0 >= .zero } ?? true, "gate.patience", "the time must not be negative")
    }

    /// True if only a route to the target is required, as usual.
    var requiresRouteOnly: Bool { self.require.count == 1 && self.require[0] == .routed }

    /// True if nothing is required.
    var isOpen: Bool { self.require.allSatisfy { $0 == .none } }
}
