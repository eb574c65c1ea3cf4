/// Something happened to a probe that the sidecar makes on its own schedule.
public struct ProbeEvent: Sendable, Hashable {
    /// A run's result for its target.
    public enum Result: String, Sendable, MetricLabel {
        /// The target answered as its module wants it.
        case success
        /// The target did not, and this host's own network was not the cause.
        case failure
        /// This host's own network was down, or had been back for too short a time: the run proves nothing about the
        /// target.
        case inconclusive
    }

    /// What a run found.
    public struct Outcome: Sendable, Hashable {
        /// The result for the target.
        public var result: Result
        /// What was wrong, even if that proves nothing about the target; nil after a success.
        public var failure: ProbeFailure?
        /// How long it took.
        public var duration: Duration
        /// When the server's certificate ends; nil if it showed none.
        public var certificateExpiry: WallTime?
        /// True if the last conclusive run found something else; a first success is no news.
        public var isNews: Bool = false
        /// True if there was no path to the target, which was therefore not asked.
        package var isGated = false
        /// The share of conclusive runs that succeeded, this one included; nil while there was none.
        package var uptime: Double?

        /// The family of the address that was asked; nil if there was none.
        package var family: AddressFamily?
        /// The addresses of the connection on which the target answered; nil if it did not.
        package var connection: ProbeConnection?

        // A change of the target is news; separate runs would fill the log.
        fileprivate var level: Event.Level { self.isNews ? self.failure == nil ? .info : .warning : .trace }

        /// What the run found, in one clause.
        package var sentence: String {
            switch self.result {
            case .success: "answers"
            case .failure: "fails" + (self.failure.map { ": \($0.text)" } ?? "")
            case .inconclusive: "is left out" + (self.failure.map { ": \($0.text) (\($0.party))" } ?? "")
            }
        }
    }

    /// What happened.
    public enum Kind: Sendable, Hashable {
        /// The configuration has the probe from now on.
        case added
        /// A run ended.
        case finished(Outcome)
        /// The probe's turn came while it still ran, so this turn was left out.
        case overrun
        /// The configuration does not have the probe any more.
        case removed
    }

    /// The probe's name in the configuration.
    public var probe: String
    /// What happened.
    public var kind: Kind

    /// An event from its parts.
    package init(probe: String, _ kind: Kind) {
        self.probe = probe
        self.kind = kind
    }

    var projection: EventProjection {
        switch self.kind {
        case .added:
            EventProjection(
                "probe.added", .debug, "probe added", "\(self.probe): probed from now on",
                [.both("probe", self.probe)])
        case .removed:
            EventProjection(
                "probe.removed", .debug, "probe removed", "\(self.probe): not probed any more",
                [.both("probe", self.probe)])
        case .overrun:
            EventProjection(
                "probe.overrun", .debug, "probe still running at its next turn",
                "\(self.probe): still running, this turn is left out", [.both("probe", self.probe)])
        case .finished(let outcome):
            EventProjection(
                "probe.finished", outcome.level, "probe finished", "\(self.probe) \(outcome.sentence)",
                [
                    .both("probe", self.probe), .both("result", outcome.result.rawValue),
                    .both("reason", outcome.failure?.reason), .both("party", .word(outcome.failure?.party)),
                    .both("text", outcome.failure?.text), .both("durationSeconds", outcome.duration, log: "duration"),
                    .both("certificateExpiry", outcome.certificateExpiry?.description, log: "certificate_expiry"),
                ])
        }
    }

    var relevance: Event.Relevance {
        switch self.kind {
        // Separate runs would fill the history.
        case .finished(let outcome): outcome.isNews ? .page : .metrics
        case .added, .removed: .log
        case .overrun: .metrics
        }
    }
}

extension ProbeEvent.Outcome {
    /// A run that is no news.
    package init(_ result: ProbeEvent.Result, duration: Duration) {
        self.result = result
        self.duration = duration
    }
}

/// Why a probe did not succeed.
public struct ProbeFailure: Sendable, Hashable {
    /// The reason, as the label of metrics has it: `connect_failed`.
    public var reason: String
    /// The responsible party.
    public var party: FaultParty
    /// What was found, in one clause.
    public var text: String

    /// A failure from its parts.
    package init(reason: String, party: FaultParty, text: String) {
        (self.reason, self.party, self.text) = (reason, party, text)
    }

    func json(at time: WallTime?) -> JSONValue {
        [
            "time": .optional(time?.description), "reason": .string(self.reason), "party": .string(self.party.rawValue),
            "text": .string(self.text),
        ]
    }
}

/// The addresses of a connection that a target answered on, and what that proves besides.
package struct ProbeConnection: Sendable, Hashable {
    package var local: IPAddress
    package var remote: IPAddress
    /// True if the target proved its identity by TLS.
    package var isEncrypted: Bool
    /// From the first SYN to the connection; nil if it was reused.
    package var connect: Duration?

    /// A connection from its parts.
    package init(local: IPAddress, remote: IPAddress, isEncrypted: Bool, connect: Duration? = nil) {
        (self.local, self.remote, self.isEncrypted, self.connect) = (local, remote, isEncrypted, connect)
    }
}
