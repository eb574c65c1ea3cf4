internal import Glibc

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

    /// What is down, as labels of metrics give it.
    package enum Scope: String, Sendable, MetricLabel {
        /// Every way out of this host.
        case network
        /// The gateway on this host's link, and with it every way out.
        case gateway
        /// A configured target.
        case target
        /// A scheduled probe.
        case probe

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
        /// What was slow went down; the outage is an incident of its own.
        case failed
        /// What was slow is not used any more: this host uses another path.
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

    /// What is wrong, and the evidence for it.
    package struct Finding: Sendable, Hashable {
        package var party: FaultParty
        /// One clause.
        package var cause: String
        /// What to do, in one sentence; empty if there is nothing to do.
        package var advice = ""
        package var certainty: Certainty
        /// What was measured, as JSON; null if nothing was.
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

    /// What an operator wrote about it.
    package struct Note: Sendable, Hashable {
        package var text: String?
        /// The number of a ticket.
        package var reference: String?
        /// When the fault was reported to the responsible party.
        package var reported: WallTime?
        /// True for maintenance, which availability leaves out.
        package var isPlanned = false

        /// Of each text, in bytes.
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
    /// The drops, the first one first; of more than ``mostDrops`` short ones neighbours are one.
    package private(set) var drops: [Drop]
    /// How often it went down.
    package private(set) var dropCount: Int
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
    /// What was measured when more became known of it; null if nothing did.
    package var worst = JSONValue.null
    /// What was measured when it ended; null before, and if nothing was.
    package var recovery = JSONValue.null
    package var note = Note()

    package static let mostDrops = 100

    /// An incident that began with a drop, or with a slow time.
    package init(
        id: String, kind: Kind = .down, _ scope: Scope, name: String?, _ finding: Finding, start: WallTime
    ) {
        (self.id, self.kind, self.scope, self.name) = (id, kind, scope, name)
        (self.finding, self.drops, self.dropCount) = (finding, [Drop(start: start)], 1)
    }

    /// What is down: `network`, `target api`.
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

    /// Adds what is known of a later incident.
    package mutating func merge(_ other: Incident) {
        self.append(other.drops, count: other.dropCount)
        self.targets.formUnion(other.targets)
        self.probes.formUnion(other.probes)
        self.attempts += other.attempts
        self.connections += other.connections
        if self.note.text == nil { self.note = other.note }
    }

    /// Adds drops after the last one.
    package mutating func append(_ drops: [Drop], count: Int) {
        self.drops += drops
        self.dropCount += count
        while self.drops.count > Self.mostDrops {
            // The shortest pause is lost first.
            let pauses = zip(self.drops, self.drops.dropFirst()).map { $1.start.since($0.end ?? $1.start) }
            guard let place = pauses.indices.min(by: { pauses[$0] < pauses[$1] }) else { return }
            self.drops[place].end = self.drops.remove(at: place + 1).end
        }
    }

    /// Moves its beginning to an earlier time.
    package mutating func backdate(to start: WallTime) { self.drops[0].start = min(start, self.start) }

    /// Ends the drop that lasts.
    package mutating func endDrop(at time: WallTime) {
        guard self.isDown else { return }
        self.drops[self.drops.count - 1].end = max(time, self.drops[self.drops.count - 1].start)
    }

    /// Moves the drop that lasts, after the wall clock was set.
    package mutating func move(by step: Duration) {
        if self.isDown { self.drops[self.drops.count - 1].start += step }
    }
}

extension Incident {
    /// A copy that does not say which network this host was in, nor its addresses.
    package var withoutIdentifiers: Incident {
        var copy = self
        copy.network = self.network.map { Network(interface: $0.interface, gateway: nil) }
        let hide = { (text: String) in Self.hidingAddresses(text, self.network?.source) }
        copy.finding.cause = hide(copy.finding.cause)
        copy.finding.advice = hide(copy.finding.advice)
        copy.finding.evidence = copy.finding.evidence.mappingTexts(hide)
        copy.worst = copy.worst.mappingTexts(hide)
        copy.recovery = copy.recovery.mappingTexts(hide)
        return copy
    }

    // Addresses with the length of a prefix are those of links; a link-local one may contain a MAC address.
    private static func hidingAddresses(_ text: String, _ source: String?) -> String {
        // Nearly every text takes this path, and a regular expression is slow.
        let colons = text.utf8.reduce(0) { $1 == UInt8(ascii: ":") ? $0 + 1 : $0 }
        let hasSource = source.map { unsafe strstr(text, $0) != nil } ?? false
        guard colons > 2 || text.utf8.contains(UInt8(ascii: "/")) || hasSource else { return text }
        return text.replacing(/[0-9A-Fa-f][0-9A-Fa-f:.]+(?:\/[0-9]+)?/) { match in
            let address = match.output.prefix { $0 != "/" }
            let isHidden =
                address == source ?? "" || address.hasPrefix("fe80:")
                || address.wholeMatch(of: /(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}/) != nil
                || match.output.contains("/") && IPAddress(String(address)) != nil
            return isHidden ? "(this host)" : String(match.output)
        }
    }

    /// The object of `incidents --json`; what lasts has the duration until `now`.
    package func json(at now: WallTime) -> JSONValue {
        [
            "id": .string(self.id), "kind": .string(self.kind.rawValue), "scope": .string(self.scope.rawValue),
            "target": .optional(self.name), "party": .string(self.finding.party.rawValue),
            "cause": .string(self.finding.cause), "advice": .string(self.finding.advice),
            "start": .string(self.start.description), "end": .optional(self.end?.description),
            "durationSeconds": .seconds((self.end ?? now).since(self.start)),
            "downSeconds": .seconds(self.downtime(at: now)), "endReason": .optional(self.endReason?.rawValue),
            "certainty": .string(self.finding.certainty.rawValue), "continues": .optional(self.continues),
            "affected": [
                "targets": .texts(self.targets.sorted()), "probes": .texts(self.probes.sorted()),
                "attempts": .whole(self.attempts), "connections": .whole(self.connections),
            ],
            "drops": .whole(self.dropCount),
            "network": self.network.map { network in
                [
                    "interface": .string(network.interface),
                    "gateway": .optional(network.gateway), "source": .optional(network.source),
                ]
            } ?? .null,
            "note": .optional(self.note.text), "reference": .optional(self.note.reference),
            "reportedAt": .optional(self.note.reported?.description), "planned": .bool(self.note.isPlanned),
        ]
    }

    /// What was measured at the start, when more became known, and at the end.
    package var evidence: JSONValue {
        ["start": self.finding.evidence, "worst": self.worst, "recovery": self.recovery]
    }

    /// What is stored beside ``evidence``: by position, because names would be most of the text, and times in
    /// microseconds.
    ///
    /// New members are added at the end.
    package var stored: JSONValue {
        [
            .string(self.id), .string(self.kind.rawValue), .string(self.scope.rawValue), .optional(self.name),
            .string(self.finding.party.rawValue), .string(self.finding.cause), .string(self.finding.advice),
            .string(self.finding.certainty.rawValue), .optional(self.end?.microseconds),
            .optional(self.endReason?.rawValue), .optional(self.continues), .texts(self.targets.sorted()),
            .texts(self.probes.sorted()), .whole(self.attempts), .whole(self.connections), .whole(self.dropCount),
            .optional(self.network?.interface), .optional(self.network?.gateway), .optional(self.network?.source),
            .optional(self.note.text), .optional(self.note.reference), .optional(self.note.reported?.microseconds),
            .bool(self.note.isPlanned),
            .array(self.drops.flatMap { [.integer($0.start.microseconds), .optional($0.end?.microseconds)] }),
        ]
    }

    /// Reads ``stored`` and ``evidence``; nil for anything else.
    package init?(stored json: JSONValue, evidence: JSONValue = .null) {
        let parts = json.elements
        guard parts.count >= 24, let id = parts[0].text, let kind = parts[1].text.flatMap(Kind.init),
            let scope = parts[2].text.flatMap(Scope.init), let party = parts[4].text.flatMap(FaultParty.init),
            let certainty = parts[7].text.flatMap(Certainty.init), let drops = Drop.all(in: parts[23].elements),
            let first = drops.first
        else { return nil }
        let finding = Finding(
            party: party, cause: parts[5].text ?? "", advice: parts[6].text ?? "", certainty: certainty,
            evidence: evidence["start"] ?? .null)
        self.init(id: id, scope, name: parts[3].text, finding, start: first.start)
        (self.kind, self.drops, self.dropCount) = (kind, drops, parts[15].number ?? drops.count)
        self.end = parts[8].number.map { WallTime(microseconds: Int64($0)) }
        (self.endReason, self.continues) = (parts[9].text.flatMap(EndReason.init), parts[10].text)
        self.targets = Set(parts[11].elements.compactMap(\.text))
        self.probes = Set(parts[12].elements.compactMap(\.text))
        (self.attempts, self.connections) = (parts[13].number ?? 0, parts[14].number ?? 0)
        self.network = parts[16].text.map { .init(interface: $0, gateway: parts[17].text, source: parts[18].text) }
        (self.worst, self.recovery) = (evidence["worst"] ?? .null, evidence["recovery"] ?? .null)
        (self.note.text, self.note.reference) = (parts[19].text, parts[20].text)
        self.note.reported = parts[21].number.map { WallTime(microseconds: Int64($0)) }
        self.note.isPlanned = parts[22] == .bool(true)
    }
}

extension Incident.Drop {
    fileprivate static func all(in times: [JSONValue]) -> [Self]? {
        let drops = stride(from: 0, to: times.count - 1, by: 2).compactMap { place -> Self? in
            guard case .integer(let start) = times[place] else { return nil }
            let end = times[place + 1].number.map { WallTime(microseconds: Int64($0)) }
            return Self(start: WallTime(microseconds: start), end: end)
        }
        return drops.count * 2 == times.count ? drops : nil
    }
}
