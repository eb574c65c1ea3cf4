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
