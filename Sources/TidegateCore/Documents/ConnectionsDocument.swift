/// What is known of the connections of other programs, as JSON.
package struct ConnectionsDocument: Sendable, Hashable {
    /// What is known.
    package var report: ConnectionsReport

    /// The processes that have connections to each remote; nil if nobody asked for them.
    package var programs: [Remote: [SocketProgram]]?

    /// The document of a report.
    package init(_ report: ConnectionsReport, programs: [Remote: [SocketProgram]]? = nil) {
        self.report = report
        self.programs = programs
    }

    /// The object that `GET /api/v1/connections` gives.
    package var json: JSONValue {
        [
            "schema": 1, "mode": .string(self.report.mode.label), "reason": .optional(self.report.reason),
            "remotes": .array(self.report.remotes.map(self.json)),
            "dropped": .integer(Int64(clamping: self.report.dropped)),
            "unexplained": .integer(Int64(clamping: self.report.unexplained)),
        ]
    }
}

extension ConnectionsDocument {
    private func json(of remote: RemoteReport) -> JSONValue {
        guard let programs = self.programs, case .object(let members) = remote.json else { return remote.json }
        let found = (programs[remote.remote] ?? []).map { program -> JSONValue in
            ["pid": .integer(Int64(program.pid)), "name": .string(program.name)]
        }
        return .object(members + [.init("programs", .array(found))])
    }
}

extension RemoteReport {
    fileprivate var json: JSONValue {
        [
            "address": .string(self.remote.address.description), "port": .optional(self.remote.port),
            "target": .optional(self.target), "direction": .string(self.remote.direction.label),
            "connections": [
                "connecting": .integer(Int64(self.connecting)), "established": .integer(Int64(self.established)),
                "closing": .integer(Int64(self.closing)),
            ],
            "stalled": .object(
                ConnectionStall.allCases.map { .init($0.label, .integer(Int64(self.stalled[$0] ?? 0))) }),
            "party": .optional(self.party?.rawValue), "nextTrySeconds": self.nextTry.map(JSONValue.seconds) ?? .null,
            "minRoundTripSeconds": self.shortestRoundTrip.map(JSONValue.seconds) ?? .null,
            "retransmitted": .integer(Int64(clamping: self.retransmittedSegments)),
            "sent": .integer(Int64(clamping: self.sentSegments)),
            "answeredSecondsAgo": self.answered.map(JSONValue.seconds) ?? .null,
            "outcomes": .object(
                ConnectionOutcome.allCases.compactMap { outcome in
                    self.outcomes[outcome].map { .init(outcome.label, .integer(Int64($0))) }
                }),
            "failures": .array(self.failureList), "history": .array(self.history.map(\.json)),
            "owners": .array(
                self.owners.map { ["uid": .integer(Int64($0.user)), "cgroup": .optional($0.controlGroup)] }),
        ]
    }
}

extension RemoteReport {
    fileprivate var failureList: [JSONValue] {
        ConnectionOutcome.allCases.flatMap { outcome in
            FaultParty.allCases.compactMap { party in
                self.failures[outcome]?[party].map { count in
                    [
                        "outcome": .string(outcome.label), "party": .string(party.rawValue),
                        "count": .integer(Int64(count)),
                    ]
                }
            }
        }
    }
}

extension RemoteReport.Interval {
    fileprivate var json: JSONValue {
        [
            "ageSeconds": .integer(self.age.components.seconds), "succeeded": .integer(Int64(self.succeeded)),
            "failures": .object(
                FaultParty.allCases.compactMap { party in
                    self.failures[party].map { .init(party.rawValue, .integer(Int64($0))) }
                }),
        ]
    }
}

extension ConnectionsDocument: Decodable {
    private enum Key: String, CodingKey {
        case mode, reason, remotes, dropped, unexplained
    }

    /// Reads the object of another process; what this version does not know is left out.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.report = ConnectionsReport(
            mode: ObservationMode(label: try values.decode(String.self, forKey: .mode)) ?? .off,
            reason: try values.decodeIfPresent(String.self, forKey: .reason),
            remotes: try values.decode([RemoteDocument].self, forKey: .remotes).map(\.report),
            dropped: try values.decode(UInt64.self, forKey: .dropped),
            unexplained: try values.decode(UInt64.self, forKey: .unexplained))
    }
}

/// A remote as it stands in the document.
private struct RemoteDocument: Decodable {
    struct Counts: Decodable {
        let connecting, established, closing: Int
    }

    struct Owner: Decodable {
        let uid: UInt32
        let cgroup: UInt64?
    }

    struct Failure: Decodable {
        let outcome, party: String
        let count: Int
    }

    struct Interval: Decodable {
        let ageSeconds: Int64
        let succeeded: Int
        let failures: [String: Int]
    }

    let address: String
    let port: UInt16?
    let target: String?
    let direction: ConnectionDirection
    let connections: Counts
    let stalled: [String: Int]
    let party: FaultParty?
    let nextTrySeconds, minRoundTripSeconds, answeredSecondsAgo: Double?
    let retransmitted, sent: UInt64
    let outcomes: [String: Int]
    let failures: [Failure]
    let history: [Interval]
    let owners: [Owner]
    let parsed: IPAddress

    private enum Key: String, CodingKey {
        case address, port, target, direction, connections, stalled, party, nextTrySeconds
        case minRoundTripSeconds, answeredSecondsAgo, retransmitted, sent, outcomes, failures, history, owners
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.address = try values.decode(String.self, forKey: .address)
        guard let parsed = IPAddress(self.address),
            let direction = ConnectionDirection(rawValue: try values.decode(String.self, forKey: .direction))
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .address, in: values, debugDescription: "\(self.address) is not a remote")
        }
        self.parsed = parsed
        self.direction = direction
        self.port = try values.decodeIfPresent(UInt16.self, forKey: .port)
        self.target = try values.decodeIfPresent(String.self, forKey: .target)
        self.connections = try values.decode(Counts.self, forKey: .connections)
        self.stalled = try values.decode([String: Int].self, forKey: .stalled)
        self.party = try values.decodeIfPresent(String.self, forKey: .party).map {
            FaultParty(rawValue: $0) ?? .unknown
        }
        self.nextTrySeconds = try values.decodeIfPresent(Double.self, forKey: .nextTrySeconds)
        self.minRoundTripSeconds = try values.decodeIfPresent(Double.self, forKey: .minRoundTripSeconds)
        self.answeredSecondsAgo = try values.decodeIfPresent(Double.self, forKey: .answeredSecondsAgo)
        self.retransmitted = try values.decode(UInt64.self, forKey: .retransmitted)
        self.sent = try values.decode(UInt64.self, forKey: .sent)
        self.outcomes = try values.decode([String: Int].self, forKey: .outcomes)
        // Older versions do not say whose they were.
        self.failures = try values.decodeIfPresent([Failure].self, forKey: .failures) ?? []
        self.history = try values.decodeIfPresent([Interval].self, forKey: .history) ?? []
        self.owners = try values.decode([Owner].self, forKey: .owners)
    }

    var report: RemoteReport {
        var report = RemoteReport(Remote(self.parsed, port: self.port, self.direction))
        report.target = self.target
        (report.connecting, report.established) = (self.connections.connecting, self.connections.established)
        report.closing = self.connections.closing
        report.stalled = Self.counts(self.stalled)
        report.party = self.party
        report.nextTry = self.nextTrySeconds.map(Self.duration)
        report.shortestRoundTrip = self.minRoundTripSeconds.map(Self.duration)
        report.answered = self.answeredSecondsAgo.map(Self.duration)
        (report.sentSegments, report.retransmittedSegments) = (self.sent, self.retransmitted)
        report.outcomes = Self.counts(self.outcomes)
        for failure in self.failures {
            guard let outcome = ConnectionOutcome(label: failure.outcome) else { continue }
            report.failures[outcome, default: [:]][FaultParty(rawValue: failure.party) ?? .unknown, default: 0] +=
                failure.count
        }
        report.history = self.history.map { document in
            var interval = RemoteReport.Interval(age: .seconds(document.ageSeconds))
            interval.succeeded = document.succeeded
            for (party, count) in document.failures {
                interval.failures[FaultParty(rawValue: party) ?? .unknown, default: 0] += count
            }
            return interval
        }
        report.owners = self.owners.map { RemoteReport.Owner(user: $0.uid, controlGroup: $0.cgroup) }
        return report
    }

    private static func duration(_ seconds: Double) -> Duration { .nanoseconds(Int64((seconds * 1e9).rounded())) }

    // Zero is as good as nothing, and what is not known here is nothing.
    private static func counts<Label: MetricLabel>(_ counts: [String: Int]) -> [Label: Int] {
        var known: [Label: Int] = [:]
        for label in Label.allCases where (counts[label.label] ?? 0) > 0 { known[label] = counts[label.label] }
        return known
    }
}

extension MetricLabel {
    fileprivate init?(label: String) {
        guard let known = Self.allCases.first(where: { $0.label == label }) else { return nil }
        self = known
    }
}
