public import TidegateCore

/// What an attempt waits for, and how long.
public struct GatePolicy: Sendable, Hashable, Codable {
    /// What must hold, all of it; an empty list requires nothing.
    public let require: [Requirement]
    /// How long a task waits at the gate in all, suspensions not counted; nil is no limit.
    public let patience: Duration?

    /// The target's own route, without a limit.
    public static let standard = GatePolicy(unchecked: [.routed], patience: nil)

    /// A gate that is always open.
    public static let open = GatePolicy(unchecked: [.none], patience: nil)

    /// A gate; what is left out is as in ``standard``.
    ///
    /// - Throws: ``PolicyError`` if the patience is negative.
    public init(require: [Requirement] = [.routed], patience: Duration? = nil) throws(PolicyError) {
        try PolicyError.check(patience.map { $0 >= .zero } ?? true, "gate.patience", "the time must not be negative")
        self.init(unchecked: require, patience: patience)
    }

    private enum CodingKeys: CodingKey {
        case require, patience
    }

    /// Reads a policy as it was encoded; throws if this version would not accept it.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let require = try members.decode([String].self, forKey: .require).map { text in
            guard let requirement = Requirement(text) else {
                throw PolicyError(field: "gate.require", problem: "\"\(text)\" is not a requirement")
            }
            return requirement
        }
        try self.init(require: require, patience: members.decodeIfPresent(Duration.self, forKey: .patience))
    }

    /// Writes the requirements as the configuration file spells them.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.require.map(\.description), forKey: .require)
        try members.encodeIfPresent(self.patience, forKey: .patience)
    }

    private init(unchecked require: [Requirement], patience: Duration?) {
        self.require = require
        self.patience = patience
    }

    /// True if only a route to the target is required, as usual.
    var requiresRouteOnly: Bool { self.require.count == 1 && self.require[0] == .routed }

    /// True if nothing is required.
    var isOpen: Bool { self.require.allSatisfy { $0 == .none } }
}
