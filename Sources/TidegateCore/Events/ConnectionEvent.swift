/// Something was observed of the TCP connections of other programs.
public enum ConnectionEvent: Sendable, Hashable {
    /// Connections to a remote began to hang.
    public struct Stall: Sendable, Hashable {
        /// The remote.
        public var remote: Remote
        /// How they hang.
        public var kind: ConnectionStall
        /// For how long, when it was noticed.
        public var age: Duration
        /// How often the kernel has sent again.
        public var retransmits: Int
        /// How soon it does so next.
        public var nextTry: Duration?
        /// The responsible party.
        public var party: FaultParty

        /// From its parts.
        package init(
            _ remote: Remote, _ kind: ConnectionStall, age: Duration, retransmits: Int, nextTry: Duration?,
            party: FaultParty
        ) {
            (self.remote, self.kind, self.age, self.retransmits) = (remote, kind, age, retransmits)
            (self.nextTry, self.party) = (nextTry, party)
        }
    }

    /// Connections to a remote failed alike.
    public struct Failure: Sendable, Hashable {
        /// The remote.
        public var remote: Remote
        /// Their outcome.
        public var outcome: ConnectionOutcome
        /// The responsible party.
        public var party: FaultParty
        /// How many there were since the event before this one.
        public var count: Int

        /// From its parts.
        package init(_ remote: Remote, _ outcome: ConnectionOutcome, party: FaultParty, count: Int) {
            (self.remote, self.outcome, self.party, self.count) = (remote, outcome, party, count)
        }
    }

    case stalled(Stall)
    /// Connections that hung go on.
    case recovered(Remote)
    /// The first failure of its kind, or those of ten seconds.
    case failed(Failure)
    /// None of the remotes behind a gateway answers, and several hang.
    case groupSilent(gateway: IPAddress?, interface: String?, remotes: Int)
    /// Connections are observed by another mode from now on; why.
    case modeChanged(from: ObservationMode, to: ObservationMode, reason: String?)
    /// The kernel dropped messages because the receive buffer was full.
    case dropped(count: Int)

    var projection: EventProjection {
        switch self {
        case .stalled(let stall):
            EventProjection(
                "connection.stalled", .warning, "connections of other programs hang",
                "\(stall.remote): \(stall.kind), \(stall.party)",
                stall.remote.fields + [
                    .both("kind", .word(stall.kind.label, stall.kind.description), log: "why"),
                    .both("ageSeconds", stall.age, log: "age"),
                    .both("retransmits", stall.retransmits, log: "sent_again"),
                    .both("nextTrySeconds", stall.nextTry, log: "next_try"), .both("party", .word(stall.party)),
                ])
        case .recovered(let remote):
            EventProjection(
                "connection.recovered", .info, "connections of other programs go on", "\(remote): connections go on",
                remote.fields)
        case .failed(let failure):
            EventProjection(
                "connection.failed", .warning, "connections of other programs failed", failure.sentence,
                failure.remote.fields + [
                    .both("outcome", .word(failure.outcome.label, failure.outcome.description)),
                    .both("party", .word(failure.party)),
                    .both("count", failure.count),
                ])
        case .groupSilent(let gateway, let interface, let remotes):
            EventProjection(
                "connection.groupSilent", .warning, "nothing behind a gateway answers other programs",
                "\(remotes) remotes behind \(gateway.map { "\($0)" } ?? "this host's links") hang, and none answers",
                [.both("gateway", gateway?.description), .both("interface", interface), .both("remotes", remotes)])
        case .modeChanged(let from, let to, let reason):
            EventProjection(
                "observation.changed", to == .event || to == .off ? .info : .warning,
                "connections of other programs are "
                    + (to == .event ? "observed" : to == .off ? "not observed" : "observed only in part"),
                "connections are observed by \(to.description)" + (reason.map { ": \($0)" } ?? ""),
                [
                    .json("from", from.label), .json("to", to.label), .log("by", to == .off ? nil : to.description),
                    .both("reason", reason),
                ])
        case .dropped(let count):
            EventProjection(
                "observation.dropped", .debug, "the kernel dropped messages about connections",
                "the kernel dropped \(count) messages about connections", [.both("count", count)])
        }
    }

    var relevance: Event.Relevance { if case .dropped = self { .history } else { .page } }
}

extension ConnectionEvent.Failure {
    fileprivate var sentence: String {
        let start = "\(self.remote): \(self.count)"
        guard self.outcome == .notSent else {
            return "\(start) \(self.count == 1 ? "connection" : "connections") failed: \(self.outcome), \(self.party)"
        }
        return "\(start) \(self.count == 1 ? "connect" : "connects") never left this host"
            + (self.party == .mine ? "" : ", \(self.party)")
    }
}

extension Remote {
    // Its parts for programs, and the whole for people: `10.0.9.9:?` has an unknown port.
    fileprivate var fields: [EventProjection.Field] {
        [
            .json("remote", "\(self.address)"), .json("port", self.port),
            .json("direction", self.direction.rawValue), .log("remote", "\(self)"),
        ]
    }
}
