/// Counts of other programs' connections since the observation began, for metrics.
package struct ConnectionStatistics: Sendable, Hashable {
    /// A state of observed connections, as its label names it.
    package enum State: String, Sendable, MetricLabel {
        case connecting, established, closing
    }

    /// The kind of sockets in a list.
    package enum Dump: String, Sendable, MetricLabel {
        case connecting, established, listeners
    }

    /// Events that the kernel counted and that no observed connection explains.
    package enum Unexplained: String, Sendable, MetricLabel {
        case connects, resets
    }

    /// Why connections are left out: they are this program's, another process of Tidegate announced them, or the
    /// configuration excludes them.
    package enum Exclusion: String, Sendable, MetricLabel {
        case own, announced, configuration
    }

    /// Observations in buckets, as a histogram has them.
    package struct Distribution: Sendable, Hashable {
        /// The upper bounds of the buckets in seconds, without the last one, which has none.
        package let bounds: [Double]
        /// How many observations are in each bucket, and in the last one those above all bounds; not cumulative.
        package private(set) var counts: [UInt64]
        /// The sum of all observations in seconds.
        package private(set) var sum = 0.0

        /// Nothing observed yet.
        package init(bounds: [Double]) {
            self.bounds = bounds
            self.counts = Array(repeating: 0, count: bounds.count + 1)
        }

        /// Adds an observation.
        package mutating func add(_ duration: Duration) {
            let seconds = duration.inSeconds
            self.counts[self.bounds.firstIndex { seconds <= $0 } ?? self.bounds.count] += 1
            self.sum += seconds
        }
    }

    /// Counts of the connections of one configured target.
    package struct OfTarget: Sendable, Hashable {
        /// Connections in the last lists.
        package var connections: [State: Int] = [:]
        /// Outcomes of connects.
        package var connects: [ConnectionOutcome: UInt64] = [:]
        /// How established ones ended.
        package var ends: [ConnectionOutcome: UInt64] = [:]
        /// When it answered last; nil if it never did.
        package var lastAnswer: WallTime?

        /// Nothing yet.
        package init() {}
    }

    /// Counts for each direction.
    package struct Traffic: Sendable, Hashable {
        /// Connections in the last lists.
        package var connections: [State: Int] = [:]
        /// Connections that hang.
        package var stalled: [ConnectionStall: Int] = [:]
        /// Connections that began to hang.
        package var stalls: [ConnectionStall: UInt64] = [:]
        /// How established connections ended.
        package var ends: [ConnectionOutcome: UInt64] = [:]
        /// Segments that were sent, and sent again.
        package var sentSegments: UInt64 = 0
        package var retransmittedSegments: UInt64 = 0
        /// Bytes that were sent, without those that were sent again, and received.
        package var sentBytes: UInt64 = 0
        package var receivedBytes: UInt64 = 0

        /// Nothing yet.
        package init() {}
    }

    /// A failure, by outcome and responsible party.
    package struct Failure: Sendable, Hashable {
        package var outcome: ConnectionOutcome
        package var party: FaultParty

        package init(_ outcome: ConnectionOutcome, _ party: FaultParty) {
            self.outcome = outcome
            self.party = party
        }
    }

    /// The bounds of ``roundTrips``.
    package static let roundTripBounds = [
        0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
    ]
    /// The bounds of ``dumps``.
    package static let dumpBounds = [0.001, 0.01, 0.1, 1]

    /// How connections are observed.
    package var mode: ObservationMode = .off
    /// Why the mode is reduced, in one clause; nil in the best mode, and while nothing is observed by choice.
    package var reason: String?
    /// What held connections back that had data to send.
    package var limits = FlowLimits()
    /// Counts for each direction.
    package var traffic: [ConnectionDirection: Traffic] = [:]
    /// Outcomes of outgoing connects.
    package var connects: [ConnectionOutcome: UInt64] = [:]
    /// Outgoing connects that are left out, regardless of their outcome.
    package var excluded: [Exclusion: UInt64] = [:]
    /// Connections that peers opened.
    package var accepts: UInt64 = 0
    /// Failures.
    package var failures: [Failure: UInt64] = [:]
    /// When any remote of a scope answered last.
    package var lastAnswers: [ConnectionScope: WallTime] = [:]
    /// The shortest round trips of outgoing connections that ended.
    package var roundTrips: [ConnectionScope: Distribution] = [:]
    /// Counts for configured targets, by their names.
    package var targets: [String: OfTarget] = [:]
    /// Messages about sockets that ended.
    package var messages: [AddressFamily: UInt64] = [:]
    /// Messages that the kernel dropped.
    package var dropped: UInt64 = 0
    /// Unexplained events.
    package var unexplained: [Unexplained: UInt64] = [:]
    /// How long lists took.
    package var dumps: [Dump: Distribution] = [:]
    /// Tracked connections.
    package var tracked = 0
    /// The receive buffer's size in bytes.
    package var receiveBufferBytes = 0
    /// The kernel's own counters of this network namespace; nil if they cannot be read.
    package var kernel: TCPCounters?

    /// Nothing counted yet.
    package init() {}
}

/// The kernel's counters of TCP in a network namespace (proc_net(5), /proc/net/snmp and /proc/net/netstat).
package struct TCPCounters: Sendable, Hashable {
    /// Connects of programs here (TcpActiveOpens).
    package var activeOpens: UInt64 = 0
    /// Connections that are established now (TcpCurrEstab).
    package var established: UInt64 = 0
    /// Connections that peers opened (TcpPassiveOpens).
    package var passiveOpens: UInt64 = 0
    /// Connects that failed (TcpAttemptFails).
    package var attemptFails: UInt64 = 0
    /// Established connections that were reset, by either side (TcpEstabResets).
    package var establishedResets: UInt64 = 0
    /// Segments with RST that were sent (TcpOutRsts).
    package var sentResets: UInt64 = 0
    /// Segments that were sent again (TcpRetransSegs).
    package var retransmittedSegments: UInt64 = 0
    /// SYN segments among them (TcpExtTCPSynRetrans).
    package var synRetransmits: UInt64 = 0
    /// Connections given up because nothing came back (TcpExtTCPAbortOnTimeout).
    package var timeoutAborts: UInt64 = 0
    /// Connections reset because the program left data unread (TcpExtTCPAbortOnClose).
    package var closeAborts: UInt64 = 0
    /// Connections refused because a listener's queue was full (TcpExtListenOverflows).
    package var listenOverflows: UInt64 = 0
    /// Received ICMP messages of type destination unreachable (IcmpInDestUnreachs and Icmp6InDestUnreachs).
    package var unreachableMessages: UInt64 = 0

    /// All zero.
    package init() {}
}

extension ConnectionStatistics {
    /// The member `observation` of a status: how connections are observed, and why no better.
    package var observation: JSONValue { ["mode": .string(self.mode.label), "reason": .optional(self.reason)] }
}
