/// A recorded outage.
package struct Incident: Sendable, Hashable {
    /// The kind of an outage.
    package enum Kind: String, Sendable, MetricLabel {
        case down
        /// It works, and is slow or lossy.
        case degraded
        /// It went down three times or more within five minutes; it ends after three minutes without an outage.
        case intermittent
    }

    /// The part of the network that is down, as labels of metrics name it.
    package enum Scope: String, Sendable, MetricLabel {
        /// Every way out of this host.
        case network
        /// The gateway on this host's link, and with it every way out.
        case gateway
        /// A configured target.
        case target
        /// A scheduled probe.
        case probe
        /// A way out that is not used, or one of several that are used together.
        case uplink

        /// True if nothing of this host reaches the internet meanwhile.
        package var isHost: Bool { self == .network || self == .gateway }
    }

    /// Why it ended.
    package enum EndReason: String, Sendable {
        case recovered
        /// Another party is responsible from then on; another incident continues this one.
        case partyChanged
        /// Tidegate ended, was killed, or did not run.
        case stopped
        /// The machine was suspended.
        case suspended
        /// The slow subject went down; the outage is an incident of its own.
        case failed
        /// The slow path is not used any more: this host uses another one.
        case moved
        /// It was slow for a day: from then on that is usual.
        case usual
        /// It was slow, and cannot be measured any more.
        case unmeasured
        /// It turned out to be part of this host's outage; only an event has this reason.
        case merged

        /// The reason in a clause; nil if the trouble is simply over.
        package var clause: String? {
            switch self {
            case .recovered: nil
            case .partyChanged: "another party is responsible from then on"
            case .stopped: "Tidegate stopped"
            case .suspended: "this host was suspended"
            case .failed: "it went down"
            case .moved: "this host uses another path"
            case .usual: "that is usual from now on"
            case .unmeasured: "it cannot be measured any more"
            case .merged: "it is part of the network's outage"
            }
        }
    }

    /// How sure it is that the party is responsible.
    package enum Certainty: String, Sendable {
        /// The party answered, or this host's own kernel said so.
        case proven
        /// Silence is the evidence, which another party may have caused.
        case probable
    }

    /// The cause, and the evidence for it.
    package struct Finding: Sendable, Hashable {
        package var party: FaultParty
        /// One clause.
        package var cause: String
        /// The advice in one sentence; empty if there is nothing to do.
        package var advice = ""
        package var certainty: Certainty
        /// The measurements, as JSON; null if nothing was measured.
        package var evidence = JSONValue.null

        /// A finding from its parts.
        package init(
            party: FaultParty, cause: String, advice: String = "", certainty: Certainty, evidence: JSONValue = .null
        ) {
            (self.party, self.cause, self.advice) = (party, cause, advice)
            (self.certainty, self.evidence) = (certainty, evidence)
        }
    }

    /// From when to when it was down without a break.
    package struct Drop: Sendable, Hashable {
        package var start: WallTime
        /// Nil while it is down.
        package var end: WallTime?

        /// A drop that lasts, unless it has an `end`.
        package init(start: WallTime, end: WallTime? = nil) { (self.start, self.end) = (start, end) }
    }

    /// The network in which this host was.
    package struct Network: Sendable, Hashable {
        package var interface: String
        package var gateway: String?
        /// This host's own address.
        package var source: String?

        /// A network from its parts.
        package init(interface: String, gateway: String?, source: String? = nil) {
            (self.interface, self.gateway, self.source) = (interface, gateway, source)
        }
    }

    /// An operator's note about it.
    package struct Note: Sendable, Hashable {
        package var text: String?
        /// The number of a ticket.
        package var reference: String?
        /// When the fault was reported to the responsible party.
        package var reported: WallTime?
        /// True for maintenance, which availability leaves out.
        package var isPlanned = false

        /// The limit of each text, in bytes.
        package static let textLimit = 1000

        /// No note.
        package init() {}
    }

    /// A UUID of version 7 (RFC 9562).
    package let id: String
    package var kind: Kind
    package var scope: Scope
    /// The name of the target or the probe; nil for other scopes.
    package var name: String?
    package var finding: Finding
    /// The drops, the first one first; of very many short ones neighbours are one.
    package var drops: [Drop]
    /// How often it went down.
    package var dropCount: Int
    /// When it ended; nil while it is open.
    package var end: WallTime?
    package var endReason: EndReason?
    /// The incident that this one continues; nil if it continues none.
    package var continues: String?
    /// The targets that failed meanwhile for the same reason.
    package var targets: Set<String> = []
    /// The probes that failed meanwhile for the same reason.
    package var probes: Set<String> = []
    /// Failed attempts of tasks meanwhile.
    package var attempts = 0
    /// Failed connections of other programs meanwhile.
    package var connections = 0
    package var network: Network?
    /// The measurements when more became known of it; null if nothing did.
    package var worst = JSONValue.null
    /// The measurements when it ended; null before, and without any.
    package var recovery = JSONValue.null
    package var note = Note()

    /// An incident that began with a drop, or with a slow time.
    package init(
        id: String, kind: Kind = .down, _ scope: Scope, name: String?, _ finding: Finding, start: WallTime
    ) {
        (self.id, self.kind, self.scope, self.name) = (id, kind, scope, name)
        (self.finding, self.drops, self.dropCount) = (finding, [Drop(start: start)], 1)
    }

    /// The subject: `network`, `target api`.
    package var subject: String { self.name.map { "\(self.scope.rawValue) \($0)" } ?? self.scope.rawValue }

    /// When it began.
    package var start: WallTime { self.drops[0].start }

    /// True while it is down; false between the drops of an intermittent one, and after its end.
    package var isDown: Bool { self.drops.last.map { $0.end == nil } ?? false }

    /// How long it was down until `now`.
    package func downtime(at now: WallTime) -> Duration { self.downtime(from: nil, to: now) }

    /// How long it was down from `start`, or from its beginning, to `end`.
    package func downtime(from start: WallTime?, to end: WallTime) -> Duration {
        self.drops.reduce(.zero) { sum, drop in
            let begin = start.map { max($0, drop.start) } ?? drop.start
            return sum + max(.zero, min(drop.end ?? end, end).since(begin))
        }
    }

    /// True if it is an incident of this target or probe, or one that made it fail.
    package func affects(_ name: String) -> Bool {
        self.name == name || self.targets.contains(name) || self.probes.contains(name)
    }
}
