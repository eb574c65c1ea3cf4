/// The other end of observed connections.
public struct Remote: Sendable, Hashable, CustomStringConvertible {
    /// The address that the program dialled, or from which it was dialled.
    public var address: IPAddress
    /// The port that was dialled: the remote's if a program of this machine opened the connection, else this host's;
    /// nil if the kernel no longer reports it.
    public var port: UInt16?
    /// Who opened its connections.
    public var direction: ConnectionDirection

    /// A remote from its parts.
    package init(_ address: IPAddress, port: UInt16?, _ direction: ConnectionDirection) {
        (self.address, self.port, self.direction) = (address, port, direction)
    }

    /// `ADDRESS:PORT`; an unknown port is a question mark.
    public var description: String {
        let port = self.port.map(String.init) ?? "?"
        switch (self.direction, self.address.family) {
        case (.outgoing, .ipv4): return "\(self.address):\(port)"
        case (.outgoing, .ipv6): return "[\(self.address)]:\(port)"
        case (.incoming, _): return "\(self.address) to port \(port)"
        }
    }
}

/// What is known about the connections to one remote.
public struct RemoteReport: Sendable, Hashable {
    /// Who created a socket.
    public struct Owner: Sendable, Hashable {
        /// The user (credentials(7)).
        public var user: UInt32
        /// The number of the control group (cgroups(7)); nil if the kernel does not say.
        public var controlGroup: UInt64?

        /// An owner from its parts.
        package init(user: UInt32, controlGroup: UInt64? = nil) {
            self.user = user
            self.controlGroup = controlGroup
        }
    }

    /// The outcomes of a remote's connections in ten seconds.
    public struct Interval: Sendable, Hashable {
        /// How long an interval is.
        public static let length = Duration.seconds(10)

        /// How long ago it ended; zero for the one that has not ended.
        public var age: Duration
        /// Connections that were established or closed in order.
        public var succeeded = 0
        /// Failures by responsible party; ``FaultParty/unknown`` includes those not yet attributed.
        public var failures: [FaultParty: Int] = [:]

        /// An interval in which nothing has happened.
        package init(age: Duration) { self.age = age }

        /// True if there is nothing to show.
        package var isEmpty: Bool { self.succeeded == 0 && self.failures.isEmpty }

        /// Counts outcomes by responsible party; nil if they are not failures, or if the party is not decided.
        package mutating func add(_ outcome: ConnectionOutcome, _ party: FaultParty?, _ count: Int) {
            switch outcome {
            case .established, .closed: self.succeeded += count
            case .refused, .unreachable, .noAnswer, .notSent, .reset, .lost:
                self.failures[party ?? .unknown, default: 0] += count
            case .abandoned, .aborted: break
            }
        }

        var json: JSONValue {
            [
                "ageSeconds": .integer(self.age.components.seconds), "succeeded": .whole(self.succeeded),
                "failures": .object(
                    FaultParty.allCases.compactMap { party in
                        self.failures[party].map { .init(party.rawValue, .whole($0)) }
                    }),
            ]
        }
    }

    /// The remote.
    public var remote: Remote
    /// The configured target whose address it is; nil for none.
    public var target: String?
    /// Connections that are being opened.
    public var connecting = 0
    /// Connections that are established.
    public var established = 0
    /// Connections that one side has closed.
    public var closing = 0
    /// Hanging connections, by kind.
    public var stalled: [ConnectionStall: Int] = [:]
    /// The party responsible for the hanging connections; nil if none hangs.
    public var party: FaultParty?
    /// How soon the kernel sends again, over all hanging connections; nil if none hangs.
    public var nextTry: Duration?
    /// The shortest round trip that was seen; nil without a sample.
    public var shortestRoundTrip: Duration?
    /// Segments that were sent.
    public var sentSegments: UInt64 = 0
    /// Segments that were sent again.
    public var retransmittedSegments: UInt64 = 0
    /// What kept its connections from being faster in the last minutes; nil if they had little to send.
    package var limitedBy: FlowLimit?
    /// How long ago it answered anything; nil if it never did.
    public var answered: Duration?
    /// The outcomes of its connections in the last five minutes.
    public var outcomes: [ConnectionOutcome: Int] = [:]
    /// The responsible parties of the failures in ``outcomes``, if decided.
    public var failures: [ConnectionOutcome: [FaultParty: Int]] = [:]
    /// The intervals of the last five minutes with any outcome, the oldest first.
    public var history: [Interval] = []
    /// Who has connections to it.
    public var owners: [Owner] = []

    /// An empty report.
    package init(_ remote: Remote) { self.remote = remote }

    /// How many of its connections hang.
    public var stalledCount: Int { self.stalled.values.reduce(0, +) }
    /// How many connections it has.
    public var connectionCount: Int { self.connecting + self.established + self.closing }

    /// The share of its segments that were sent again, in percent with one digit: `9.1 %`; nil if none was sent.
    package var retransmissionText: String? {
        guard self.sentSegments > 0 else { return nil }
        let thousandths = (self.retransmittedSegments * 1000 + self.sentSegments / 2) / self.sentSegments
        return "\(thousandths / 10).\(thousandths % 10) %"
    }

    var json: JSONValue {
        [
            "address": .string(self.remote.address.description), "port": .optional(self.remote.port),
            "target": .optional(self.target), "direction": .string(self.remote.direction.label),
            "connections": [
                "connecting": .whole(self.connecting), "established": .whole(self.established),
                "closing": .whole(self.closing),
            ],
            "stalled": .object(ConnectionStall.allCases.map { .init($0.label, .whole(self.stalled[$0] ?? 0)) }),
            "party": .optional(self.party?.rawValue), "nextTrySeconds": .seconds(self.nextTry),
            "minRoundTripSeconds": .seconds(self.shortestRoundTrip),
            "retransmitted": .whole(self.retransmittedSegments), "sent": .whole(self.sentSegments),
            "limitedBy": .optional(self.limitedBy?.label),
            "answeredSecondsAgo": .seconds(self.answered),
            "outcomes": .object(
                ConnectionOutcome.allCases.compactMap { outcome in
                    self.outcomes[outcome].map { .init(outcome.label, .whole($0)) }
                }),
            "failures": .array(self.failureList), "history": .array(self.history.map(\.json)),
            "owners": .array(self.owners.map { ["uid": .whole($0.user), "cgroup": .optional($0.controlGroup)] }),
        ]
    }

    var failureList: [JSONValue] {
        ConnectionOutcome.allCases.flatMap { outcome in
            FaultParty.allCases.compactMap { party in
                self.failures[outcome]?[party].map { count in
                    [
                        "outcome": .string(outcome.label), "party": .string(party.rawValue), "count": .whole(count),
                    ]
                }
            }
        }
    }
}

/// What is known about the TCP connections of other programs.
public struct ConnectionsReport: Sendable, Hashable {
    /// How they are observed.
    public var mode: ObservationMode = .off
    /// Why the mode is not better; nil in the best mode.
    public var reason: String?
    /// The remotes: those that hang first, then by their number of connections.
    public var remotes: [RemoteReport] = []
    /// Messages that the kernel dropped because the receive buffer was full, exactly.
    public var dropped: UInt64 = 0
    /// Connects and resets that the kernel counted and that were not observed.
    public var unexplained: UInt64 = 0
    /// How long ago live connections were listed; nil if they never were, or if that is not known.
    package var listed: Duration?

    /// The report without observation.
    package init() {}

    /// What it lacks, one clause each.
    package var caveats: [String] {
        var clauses: [String] = []
        if self.mode != .event {
            let reason = self.reason.map { ": \($0)" } ?? ""
            clauses.append("connections are observed by \(self.mode.description)\(reason)")
        }
        if self.dropped > 0 {
            clauses.append("the kernel dropped \(self.dropped) messages, so that some ends are missing")
        }
        return clauses
    }
}
