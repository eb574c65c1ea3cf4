/// Everything the monitor knows at one moment; `status --json` and `/api/v1/status` are its projection.
public struct ReachabilityStatus: Sendable {
    /// How the monitor learns of changes.
    public enum Mode: String, Sendable, CaseIterable, MetricLabel, CustomStringConvertible {
        /// One check, no watching.
        case once
        /// Netlink events.
        case event
        /// Route groups left because of a storm; lookups on a timer.
        case storm
        /// No multicast at all; lookups on a timer.
        case poll

        /// What the monitor uses to watch: `kernel events`.
        public var description: String {
            switch self {
            case .once: "one look"
            case .event: "kernel events"
            case .storm: "a timer, because routes change too fast to follow"
            case .poll: "a timer, because the kernel sends no events"
            }
        }
    }

    /// A family's verdict.
    public struct Family: Sendable, Hashable {
        /// The IP version.
        public var family: AddressFamily
        /// Its verdict over the sentinels.
        public var verdict: Verdict

        /// A verdict of a family.
        package init(family: AddressFamily, verdict: Verdict) {
            self.family = family
            self.verdict = verdict
        }
    }

    /// The health of the monitor.
    package struct Health: Sendable, Hashable {
        /// How often the kernel dropped messages.
        package var overruns: UInt64 = 0
        /// How many full dumps were made, the first one included.
        package var resyncs: UInt64 = 0
        /// How many dumps the kernel interrupted.
        package var interruptedDumps: UInt64 = 0
        /// False while a resync is under way.
        package var isConsistent = false
        /// The receive buffer's effective size in bytes, as `getsockopt` reports it; 0 without a socket.
        package var receiveBufferBytes = 0

        /// The health of a monitor that has not read anything.
        package init() {}

        var json: JSONValue {
            [
                "overruns": .whole(self.overruns), "resyncs": .whole(self.resyncs),
                "interruptedDumps": .whole(self.interruptedDumps), "consistent": .bool(self.isConsistent),
            ]
        }
    }

    /// The better of the families, or `unknown` if one is unknown and the other is not at least routed.
    public var global: Verdict
    /// When the global level was reached; nil unless this process saw the change.
    public var since: WallTime?
    /// How the monitor learns of changes.
    package var mode: Mode
    /// IPv4, then IPv6.
    public var families: [Family]
    /// The links, by index.
    public var links: [Link]
    /// The ways out, those in use first; empty on a host with a single one.
    public var uplinks: [Uplink] = []
    /// The targets, in the order they were added.
    public var targets: [TargetVerdict]
    /// What is known of the configured targets that are checked; one that is not checked is absent.
    public var checks: [Target: TargetCheckReport] = [:]
    /// How good the way out and the targets are; nil while that is not watched.
    package var quality: QualityStatus?
    /// The monitor's own health.
    package var health = Health()

    /// The status of a monitor that has not seen anything yet.
    package static func unavailable(mode: Mode) -> ReachabilityStatus {
        ReachabilityStatus(
            global: .unknown, mode: mode,
            families: AddressFamily.allCases.map { Family(family: $0, verdict: .unknown) },
            links: [], targets: [])
    }

    /// The global verdict that follows from the families' (see ``global``).
    package static func global(over families: [Family]) -> Verdict {
        let best = families.max { $0.verdict.level < $1.verdict.level }?.verdict ?? .unknown
        let isUnavailable = families.contains { $0.verdict.level == .unknown }
        return isUnavailable && best.level < .routed ? .unknown : best
    }

    /// The level of this host as a whole.
    public var level: ReachabilityLevel { self.global.level }

    /// The object that `status --json` and `GET /api/v1/status` give.
    package var json: JSONValue { .object([.init("schema", 1)] + self.documentMembers) }

    /// The member `uplinks`; none on a host with a single one.
    package var uplinkMembers: [JSONValue.Member] {
        self.uplinks.isEmpty ? [] : [.init("uplinks", .array(self.uplinks.map(\.json)))]
    }

    /// The members of ``json`` after `schema`, so that `watch` can put its own `event` in between.
    package var documentMembers: [JSONValue.Member] {
        [
            .init("level", .string(self.global.level.rawValue)),
            .init("reason", .optional(self.global.reason?.rawValue)),
            .init("since", .optional(self.since?.description)), .init("mode", .string(self.mode.rawValue)),
            .init(
                "families", .object(self.families.map { .init($0.family.rawValue, .object($0.verdict.familyMembers)) })),
            .init("links", .array(self.links.map { $0.json(among: self.links) })),
        ] + self.uplinkMembers + [
            .init("targets", .array(self.targets.map(\.json))), .init("monitor", self.health.json),
        ]
    }
}

/// The configured targets as JSON.
package enum TargetsDocument {
    /// The object that `GET /api/v1/targets` gives; `names` are the targets' names in the configuration.
    package static func json(_ status: ReachabilityStatus, names: [Target: String]) -> JSONValue {
        let targets = status.targets.map { entry in entry.json(name: names[entry.target], status.checks[entry.target]) }
        return ["schema": 1, "targets": .array(targets)]
    }
}
