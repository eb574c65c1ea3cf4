/// The known connections of other programs, as JSON.
package struct ConnectionsDocument: Sendable, Hashable, Decodable {
    /// The known connections.
    package var report: ConnectionsReport

    /// The processes that have connections to each remote; nil if the request did not ask for them.
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
            "remotes": .array(self.report.remotes.map(self.json)), "dropped": .whole(self.report.dropped),
            "unexplained": .whole(self.report.unexplained),
        ]
    }

    private func json(of remote: RemoteReport) -> JSONValue {
        guard let programs = self.programs, case .object(let members) = remote.json else { return remote.json }
        let found = (programs[remote.remote] ?? []).map { program -> JSONValue in
            ["pid": .whole(program.pid), "name": .string(program.name)]
        }
        return .object(members + [.init("programs", .array(found))])
    }

    private enum Key: String, CodingKey {
        case mode, reason, remotes, dropped, unexplained
    }

    /// Reads the object of another process; members that this version does not know are left out.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let remotes = try values.decode([RemoteDocument].self, forKey: .remotes).map { remote in
            guard let report = remote.report else {
                throw DecodingError.dataCorruptedError(
                    forKey: .remotes, in: values, debugDescription: "\(remote.address) is not a remote")
            }
            return report
        }
        self.report = ConnectionsReport()
        self.report.mode = ObservationMode(label: try values.decode(String.self, forKey: .mode)) ?? .off
        self.report.reason = try values.decodeIfPresent(String.self, forKey: .reason)
        self.report.remotes = remotes
        self.report.dropped = try values.decode(UInt64.self, forKey: .dropped)
        self.report.unexplained = try values.decode(UInt64.self, forKey: .unexplained)
    }
}

/// A remote in the document.
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
    let direction: String
    let connections: Counts
    let stalled: [String: Int]
    let party: String?
    let nextTrySeconds, minRoundTripSeconds, answeredSecondsAgo: Double?
    let retransmitted, sent: UInt64
    let limitedBy: String?
    let outcomes: [String: Int]
    // Older versions leave out the party.
    let failures: [Failure]?
    let history: [Interval]?
    let owners: [Owner]

    // Nil if it is about no remote.
    var report: RemoteReport? {
        guard let address = IPAddress(self.address), let direction = ConnectionDirection(rawValue: self.direction)
        else {
            return nil
        }
        var report = RemoteReport(Remote(address, port: self.port, direction))
        report.target = self.target
        (report.connecting, report.established) = (self.connections.connecting, self.connections.established)
        report.closing = self.connections.closing
        report.stalled = Self.counts(self.stalled)
        report.party = self.party.map { FaultParty(rawValue: $0) ?? .unknown }
        report.nextTry = self.nextTrySeconds.map(Self.duration)
        report.shortestRoundTrip = self.minRoundTripSeconds.map(Self.duration)
        report.answered = self.answeredSecondsAgo.map(Self.duration)
        (report.sentSegments, report.retransmittedSegments) = (self.sent, self.retransmitted)
        report.limitedBy = self.limitedBy.flatMap(FlowLimit.init(label:))
        report.outcomes = Self.counts(self.outcomes)
        for failure in self.failures ?? [] {
            guard let outcome = ConnectionOutcome(label: failure.outcome) else { continue }
            report.failures[outcome, default: [:]][FaultParty(rawValue: failure.party) ?? .unknown, default: 0] +=
                failure.count
        }
        report.history = (self.history ?? []).map { document in
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

    // Zero counts are left out, and so are unknown labels.
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
