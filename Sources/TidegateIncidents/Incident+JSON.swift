internal import Glibc
package import TidegateCore

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

    /// The measurements at the start, when more became known, and at the end.
    package var evidence: JSONValue {
        ["start": self.finding.evidence, "worst": self.worst, "recovery": self.recovery]
    }

    /// The stored members beside ``evidence``, with times in microseconds.
    package var stored: JSONValue {
        let members: JSONValue = [
            "id": .string(self.id), "kind": .string(self.kind.rawValue), "scope": .string(self.scope.rawValue),
            "target": .optional(self.name), "party": .string(self.finding.party.rawValue),
            "cause": .string(self.finding.cause), "advice": .string(self.finding.advice),
            "certainty": .string(self.finding.certainty.rawValue), "end": .optional(self.end?.microseconds),
            "endReason": .optional(self.endReason?.rawValue), "continues": .optional(self.continues),
            "targets": .texts(self.targets.sorted()), "probes": .texts(self.probes.sorted()),
            "attempts": .whole(self.attempts), "connections": .whole(self.connections),
            "dropCount": .whole(self.dropCount), "interface": .optional(self.network?.interface),
            "gateway": .optional(self.network?.gateway), "source": .optional(self.network?.source),
            "note": .optional(self.note.text), "reference": .optional(self.note.reference),
            "reportedAt": .optional(self.note.reported?.microseconds), "planned": .bool(self.note.isPlanned),
        ]
        return members.withoutNulls.adding(.init("drops", .array(self.drops.flatMap(\.times))))
    }

    // The members of older rows, which have no names.
    private static let positions = """
        id kind scope target party cause advice certainty end endReason continues targets probes attempts connections \
        dropCount interface gateway source note reference reportedAt planned drops
        """.split(separator: " ").map(String.init)

    /// Reads ``stored`` and ``evidence``; nil for anything else.
    package init?(stored json: JSONValue, evidence: JSONValue = .null) {
        let json = json.elements.isEmpty ? json : .object(zip(Self.positions, json.elements).map { .init($0, $1) })
        func text(_ name: String) -> String? { json[name]?.text }
        func number(_ name: String) -> Int? { json[name]?.number }
        func texts(_ name: String) -> Set<String> { Set(json[name]?.elements.compactMap(\.text) ?? []) }
        func time(_ name: String) -> WallTime? { number(name).map { WallTime(microseconds: Int64($0)) } }
        guard let id = text("id"), let kind = text("kind").flatMap(Kind.init),
            let scope = text("scope").flatMap(Scope.init), let party = text("party").flatMap(FaultParty.init),
            let certainty = text("certainty").flatMap(Certainty.init),
            let drops = Drop.all(in: json["drops"]?.elements ?? []), let first = drops.first
        else { return nil }
        let finding = Finding(
            party: party, cause: text("cause") ?? "", advice: text("advice") ?? "", certainty: certainty,
            evidence: evidence["start"] ?? .null)
        self.init(id: id, kind: kind, scope, name: text("target"), finding, start: first.start)
        (self.drops, self.dropCount) = (drops, number("dropCount") ?? drops.count)
        (self.end, self.endReason) = (time("end"), text("endReason").flatMap(EndReason.init))
        (self.continues, self.targets, self.probes) = (text("continues"), texts("targets"), texts("probes"))
        (self.attempts, self.connections) = (number("attempts") ?? 0, number("connections") ?? 0)
        self.network = text("interface").map { .init(interface: $0, gateway: text("gateway"), source: text("source")) }
        (self.worst, self.recovery) = (evidence["worst"] ?? .null, evidence["recovery"] ?? .null)
        (self.note.text, self.note.reference) = (text("note"), text("reference"))
        (self.note.reported, self.note.isPlanned) = (time("reportedAt"), json["planned"] == .bool(true))
    }
}

extension Incident.Drop {
    fileprivate var times: [JSONValue] { [.integer(self.start.microseconds), .optional(self.end?.microseconds)] }

    fileprivate static func all(in times: [JSONValue]) -> [Self]? {
        let drops = stride(from: 0, to: times.count - 1, by: 2).compactMap { place -> Self? in
            guard case .integer(let start) = times[place] else { return nil }
            let end = times[place + 1].number.map { WallTime(microseconds: Int64($0)) }
            return Self(start: WallTime(microseconds: start), end: end)
        }
        return drops.count * 2 == times.count ? drops : nil
    }
}
