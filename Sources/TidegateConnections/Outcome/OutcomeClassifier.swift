internal import TidegateCore
internal import TidegateNetwork

/// What became of a connection whose socket has ended.
struct ConnectionEnding: Sendable, Hashable {
    /// How sure an outcome is.
    enum Certainty: Sendable, Hashable {
        case sure
        /// Something else may look the same.
        case likely
    }

    /// What became of it.
    var outcome: ConnectionOutcome
    /// Who opened it.
    var direction: ConnectionDirection
    /// How sure that is.
    var certainty: Certainty
    /// True if it was established before it ended.
    var wasEstablished: Bool
}

/// Decides what became of a connection, by what the kernel says when its socket ends.
///
/// The message has neither an error number nor a state. What is decided is in the sequence numbers, the retransmissions
/// and the queues that it still has.
enum OutcomeClassifier {
    /// What is known besides the message.
    struct Context: Sendable, Hashable {
        /// Whether a program of this machine listens, or listened a minute ago, at the socket's own address and port.
        var isOwnPortListening = false
        /// Whether a list showed that no packet of the connection ever left this host.
        var wasNeverSent = false
        /// Whether the kernel counted a reset for unread data (TCPAbortOnClose) that may have been this connection's; nil
        /// if that is not known.
        var isAbortedOnClose: Bool?
        /// Whether a list saw the connection established.
        var wasEstablished = false
    }

    private typealias Judgement = (outcome: ConnectionOutcome, certainty: ConnectionEnding.Certainty)

    /// What a message says; nil if it is about no connection, but a listener, or a socket that was never used.
    static func classify(_ report: SocketReport, _ context: Context = Context()) -> ConnectionEnding? {
        let count = SegmentCount(report)
        guard !count.hasNoRemote else { return nil }
        let info = report.tcp ?? TCPInfo()
        let wasEstablished = count.isEstablished || context.wasEstablished
        let direction = wasEstablished ? self.direction(count, context) : .outgoing
        let (outcome, certainty) =
            wasEstablished
            ? self.end(report, info, count, direction, context) : self.failedConnect(info, count, context)
        return ConnectionEnding(
            outcome: outcome, direction: direction, certainty: certainty, wasEstablished: wasEstablished)
    }

    private static func failedConnect(_ info: TCPInfo, _ count: SegmentCount, _ context: Context) -> Judgement {
        if !count.isTorn, info.receivedSegments >= 1 { return (.refused, .sure) }
        guard info.retransmits >= 1 else { return (count.isTorn ? .refused : .abandoned, .likely) }
        let isNotSent = count.isTorn ? context.wasNeverSent : info.retransmittedSegments == 0
        return (isNotSent ? .notSent : .noAnswer, .sure)
    }

    // By the SYN that this side sent, if the message has the numbers; else by who listens.
    private static func direction(_ count: SegmentCount, _ context: Context) -> ConnectionDirection {
        if !count.isTorn {
            if count.controlBytes == 2 { return .outgoing }
            if count.controlBytes == 0 { return .incoming }
        }
        return context.isOwnPortListening ? .incoming : .outgoing
    }

    private static func end(
        _ report: SocketReport, _ info: TCPInfo, _ count: SegmentCount, _ direction: ConnectionDirection,
        _ context: Context
    ) -> Judgement {
        if count.isTorn { return (.aborted, .sure) }
        let closes = count.controlBytes - (direction == .outgoing ? 1 : 0)
        let waits = report.sendQueue > 0
        if closes >= 1, !waits { return (.closed, .sure) }
        if info.retransmits >= 1, waits { return (.lost, .sure) }
        if info.probes >= 1 { return (.lost, .likely) }
        // A FIN that was not read counts as a byte: without data it is the only one. A reset by the peer looks the same.
        let hasUnread = report.receiveQueue > (info.receivedDataSegments > 0 ? 0 : 1)
        if hasUnread, context.isAbortedOnClose ?? !waits { return (.aborted, .likely) }
        return (.reset, .likely)
    }
}

/// What the sequence numbers of a socket say about its connection.
///
/// The kernel counts a SYN and a FIN as a byte each (RFC 9293 3.4), so that what was acknowledged or still waits, less
/// what was sent, says whether this side opened the connection, and whether it closed it.
struct SegmentCount {
    /// True if the peer answered anything at all.
    let isEstablished: Bool
    /// True if the program gave the connection up in such a way that the kernel forgot its port (tcp_disconnect).
    let isTorn: Bool
    /// True if no remote was ever named: a listener, or a socket that was only bound.
    let hasNoRemote: Bool
    /// SYN and FIN of this side that were sent: 0, 1 or 2.
    let controlBytes: Int

    init(_ report: SocketReport) {
        let info = report.tcp ?? TCPInfo()
        self.hasNoRemote = report.remote.address.isUnspecified
        self.isTorn = report.remote.port == 0 && !self.hasNoRemote
        self.isEstablished =
            info.acknowledgedBytes > 0 || info.deliveredSegments > 0 || info.shortestRoundTrip != nil
            || info.sendWindow > 0
        // Wrapping, because a message may say anything.
        let waiting = Int64(report.sendQueue) - Int64(info.unsentBytes)
        let sent = Int64(bitPattern: info.sentBytes &- info.retransmittedBytes)
        self.controlBytes = Int(truncatingIfNeeded: Int64(bitPattern: info.acknowledgedBytes) &+ waiting &- sent)
    }
}
