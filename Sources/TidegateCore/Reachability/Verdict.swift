/// What the kernel would do with a packet now.
public struct Verdict: Sendable, Hashable {
    /// How far the packet would go.
    public var level: ReachabilityLevel
    /// The first rung that fails; nil at `routed` and `online`.
    public var reason: UnreachableReason?
    /// The path the packet would take; nil without one.
    public var path: NetworkPath?
    /// Warnings.
    public var notes: [PathWarning]

    /// A verdict from its parts.
    package init(
        level: ReachabilityLevel, reason: UnreachableReason? = nil, path: NetworkPath? = nil, notes: [PathWarning] = []
    ) {
        (self.level, self.reason, self.path, self.notes) = (level, reason, path, notes)
    }

    /// The verdict while the kernel cannot be read: gates are open.
    public static let unknown = Verdict(level: .unknown, reason: .monitorDown)

    /// True if no router stands between this host and `peer`: the path has no gateway, or the peer is the gateway.
    ///
    /// A tunnel also has no gateway, but leads beyond the link.
    package func isOnLink(_ peer: IPAddress?) -> Bool {
        guard let path = self.path, let peer else { return false }
        guard let gateway = path.gateway else { return !self.notes.contains(.tunnel) }
        return gateway.withoutZone == peer.withoutZone
    }

    /// True if level, reason and path are the same.
    package func isEquivalent(to other: Verdict) -> Bool {
        self.level == other.level && self.reason == other.reason && self.path?.identity == other.path?.identity
    }

    var familyMembers: [JSONValue.Member] {
        self.levelMembers + self.pathMembers + (self.path?.metered ?? .unknown).members + [self.notesMember]
    }

    var levelMembers: [JSONValue.Member] {
        [.init("level", .string(self.level.rawValue)), .init("reason", .optional(self.reason?.rawValue))]
    }

    var pathMembers: [JSONValue.Member] {
        [
            .init("interface", .optional(self.path?.interface)),
            .init("gateway", .optional(self.path?.gateway?.description)),
            .init("source", .optional(self.path?.source?.description)), .init("table", .optional(self.path?.table)),
        ]
    }

    var notesMember: JSONValue.Member {
        .init("notes", .array(self.notes.map(\.json)))
    }

    /// The verdict as the two sides of a `path.changed` event give it.
    package var changeJSON: JSONValue {
        .object(self.levelMembers + self.pathMembers.filter { $0.name != "table" })
    }
}

/// The verdict for one address of a target.
public struct AddressVerdict: Sendable, Hashable {
    /// The address.
    public var address: IPAddress
    /// What the kernel would do with a packet to it.
    public var verdict: Verdict

    /// A verdict for an address.
    package init(address: IPAddress, verdict: Verdict) {
        self.address = address
        self.verdict = verdict
    }
}

/// The verdict for a target: the best one over its addresses.
public struct TargetVerdict: Sendable, Hashable {
    /// The target as it was given.
    public var target: Target
    /// The best verdict over ``addresses``, or that of the resolvers while the name has no address.
    public var verdict: Verdict
    /// Every address with its own verdict; empty while the name is not resolved.
    public var addresses: [AddressVerdict]
    /// The level of the whole IP version that the best address has, internet checks included; gates that require `online` go by it.
    ///
    /// A target on the local network is routed over another path than the one that the checks use, so its own level
    /// does not say whether the host is online.
    public var internetLevel: ReachabilityLevel = .unknown

    /// A target's verdict from its parts.
    package init(target: Target, verdict: Verdict, addresses: [AddressVerdict] = []) {
        (self.target, self.verdict, self.addresses) = (target, verdict, addresses)
    }

    /// The family of the address that a connection would use first.
    package var family: AddressFamily {
        let best = self.addresses.first { $0.verdict.level == self.verdict.level }
        return (best?.address ?? self.target.address ?? self.verdict.path?.source)?.family ?? .ipv4
    }

    var json: JSONValue {
        let flat = self.verdict.levelMembers + self.verdict.pathMembers + [self.verdict.notesMember]
        let addresses = self.addresses.map { entry in
            JSONValue.object(
                [
                    .init("address", .string(entry.address.description)),
                    .init("family", .string(entry.address.family.rawValue)),
                ] + entry.verdict.levelMembers + entry.verdict.pathMembers)
        }
        return .object(
            [.init("target", .string(self.target.description))] + flat + [.init("addresses", .array(addresses))])
    }

    func json(name: String?, _ report: TargetCheckReport?) -> JSONValue {
        [
            "name": .string(name ?? self.target.description), "target": .string(self.target.description),
            "check": .string((report?.check.kind ?? .none).rawValue), "level": .string(self.verdict.level.rawValue),
            "reason": .optional(self.verdict.reason?.rawValue), "routed": .bool(self.verdict.level >= .routed),
            "reached": report?.isReached.map { .bool($0) } ?? .null,
            "lastSuccess": .optional(report?.lastSuccess?.description),
            "lastFailure": report?.lastFailure?.json ?? .null,
            "latencySeconds": report?.lastSuccess == nil ? .null : report?.phases.checkJSON ?? .null,
            "certificateExpiry": .optional(report?.certificateExpiry?.description),
            "nextCheck": .optional(report?.nextCheck?.description),
            "checkingSince": .optional(report?.checkingSince?.description),
        ]
    }
}

/// What the kernel would do with a packet to an address, and over which link.
package struct AddressRoute: Sendable, Hashable {
    /// What it would do.
    package var verdict: Verdict
    /// The link that it would take, or would take if it could be used; nil without one.
    package var link: String?

    /// A route from its parts.
    package init(verdict: Verdict, link: String? = nil) {
        self.verdict = verdict
        self.link = link
    }
}
