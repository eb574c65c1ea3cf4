/// One way out of this host: a link with a default route, and the next hop on it (ip-route(8)).
public struct Uplink: Sendable, Hashable {
    /// The use that packets make of an uplink.
    public enum Role: String, Sendable, MetricLabel {
        /// Packets to the internet leave by it now.
        case used
        /// It is one of several that are used together: each connection leaves by one of them.
        case member
        /// Its route is not preferred, or only some packets may take it.
        case standby
    }

    /// Its state, by echoes that could leave by it alone.
    public enum State: String, Sendable {
        /// A host on the internet answered.
        case works
        /// The gateway answered, and nothing beyond it.
        case provider
        /// Nothing answered.
        case silent
        /// The link carries nothing: it is switched off, or has no carrier.
        case down
        /// The kernel drops answers that come by it (ip-sysctl, rp_filter).
        case filtered
        /// This host did not ask, or could not.
        case unknown

        /// True if packets are lost.
        package var isBroken: Bool { [.provider, .silent, .down].contains(self) }
    }

    /// The link's name.
    public let interface: String
    /// The next hop; nil for a link that needs none.
    public let gateway: IPAddress?
    /// The IP version of its default route; IPv4 if it has both.
    public let family: AddressFamily
    /// The use that packets make of it.
    public var role: Role
    /// Its state.
    public var state = State.unknown
    /// When the state began; nil if it was not seen to change.
    public var since: WallTime?

    /// The most uplinks that are asked at a time: a host with hundreds of default routes asks the preferred ones.
    package static let most = 4

    /// An uplink that was not asked.
    package init(_ interface: String, _ gateway: IPAddress?, _ family: AddressFamily = .ipv4, _ role: Role = .standby) {
        (self.interface, self.gateway, self.family, self.role) = (interface, gateway, family, role)
    }

    /// True if packets that take it are lost.
    package var isBroken: Bool { self.state.isBroken }

    /// True if both are the same way: a link's name alone may lead to another gateway tomorrow.
    package func isSame(as other: Uplink) -> Bool {
        self.interface == other.interface && self.gateway == other.gateway && self.family == other.family
    }

    /// A clause about its state, with the command that uses it if it works (ip-route(8)).
    package var sentence: String {
        switch self.state {
        case .works:
            let command = self.family == .ipv4 ? "ip" : "ip -6"
            let hop = self.gateway.map { "via \($0) " } ?? ""
            if self.role == .member { return "\(self.interface) works" }
            return "\(self.interface) works: \(command) route replace default \(hop)dev \(self.interface)"
        case .filtered:
            return "\(self.interface) is not known: its rp_filter is strict, and drops what answers over it"
        case .unknown: return "\(self.interface) is not known"
        case .provider, .silent, .down: return self.trouble
        }
    }

    /// A clause about its state for a table: `works`, `no echo comes back over lan2, not even from 192.168.20.1`.
    package var shortSentence: String {
        switch self.state {
        case .works: "works"
        case .unknown: "not known"
        case .filtered: "not known: rp_filter is strict"
        case .provider, .silent, .down: self.trouble
        }
    }

    /// Why packets that take it are lost, in a clause.
    package var trouble: String {
        if self.state == .down { return "\(self.interface) carries nothing" }
        let router = self.gateway.map { "\($0)" } ?? "its first router"
        return self.state == .provider
            ? "no echo comes back over \(self.interface) from beyond \(router) (your provider, or a filter of echoes)"
            : "no echo comes back over \(self.interface), not even from \(router)"
    }

    /// The responsible party while it is broken.
    package var party: FaultParty {
        switch self.state {
        case .down: .mine
        case .provider: .upstream
        case .works, .silent, .filtered, .unknown: .unknown
        }
    }

    /// How sure it is that the party is responsible.
    package var certainty: Incident.Certainty { self.state == .down ? .proven : .probable }

    /// The advice while it is broken; empty otherwise.
    package var advice: String {
        switch self.state {
        case .down: "Check the cable or the radio link of \(self.interface)."
        case .provider: "Ask the provider of \(self.interface): nothing beyond its router answers echoes."
        case .silent:
            "Check the router at \(self.interface)"
                + (self.gateway.map { ": ping -I \(self.interface) \($0)" } ?? "") + "."
        case .works, .filtered, .unknown: ""
        }
    }

    /// The member of `uplinks` in `status --json` and `GET /api/v1/status`.
    package var json: JSONValue {
        [
            "interface": .string(self.interface), "gateway": .optional(self.gateway?.description),
            "family": .string(self.family.rawValue), "role": .string(self.role.rawValue),
            "state": .string(self.state.rawValue), "since": .optional(self.since?.description),
            "text": .string(self.shortSentence), "party": .optional(self.isBroken ? self.party.rawValue : nil),
        ]
    }
}
