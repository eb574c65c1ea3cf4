internal import TidegateCore
internal import TidegateNetwork

/// The outcome of a connection whose socket has closed.
struct ConnectionEnding: Sendable, Hashable {
    /// The certainty of an outcome.
    enum Certainty: Sendable, Hashable {
        case sure
        /// Other outcomes may look the same.
        case likely
    }

    /// The outcome.
    var outcome: ConnectionOutcome
    /// The direction: which side opened the connection.
    var direction: ConnectionDirection
    /// The certainty of the outcome.
    var certainty: Certainty
    /// True if it was established before it ended.
    var wasEstablished: Bool
}

/// Classifies the outcome of a connection from the kernel's message about its closed socket.
///
/// The message has neither an error number nor a state. The outcome follows from the sequence numbers, the
/// retransmissions and the queues.
enum OutcomeClassifier {
    /// Knowledge from other sources than the message.
    struct Context: Sendable, Hashable {
        /// Whether a program of this machine listens, or listened within the last minute, at the socket's own address
        /// and port.
        var isOwnPortListening = false
        /// Whether a list showed that no packet of the connection ever left this host.
        var wasNeverSent = false
        /// Whether the kernel counted a reset for unread data (TCPAbortOnClose) that may have been this connection's;
        /// nil if unknown.
        var isAbortedOnClose: Bool?
        /// Whether a list saw the connection established.
        var wasEstablished = false
    }

    private typealias Judgement = (outcome: ConnectionOutcome, certainty: ConnectionEnding.Certainty)

    /// Classifies a message; nil for a listener or a socket that was never used.
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

    // From this side's SYN if the message has the sequence numbers, else from the listeners.
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
        // An unread FIN counts as one byte; without data it is the only one. A reset by the peer looks the same.
        let hasUnread = report.receiveQueue > (info.receivedDataSegments > 0 ? 0 : 1)
        if hasUnread, context.isAbortedOnClose ?? !waits { return (.aborted, .likely) }
        return (.reset, .likely)
    }
}

/// What a socket's sequence numbers show about its connection.
///
/// The kernel counts SYN and FIN as one byte each (RFC 9293 3.4). Bytes acknowledged or waiting, minus bytes sent,
/// therefore show whether this side opened the connection and whether it closed it.
struct SegmentCount {
    /// True if the peer answered anything at all.
    let isEstablished: Bool
    /// True if the program aborted the connection so that the kernel forgot its port (tcp_disconnect).
    let isTorn: Bool
    /// True if the socket never had a remote: a listener, or a socket that was only bound.
    let hasNoRemote: Bool
    /// SYN and FIN sent by this side: 0, 1 or 2.
    let controlBytes: Int

    init(_ report: SocketReport) {
        let info = report.tcp ?? TCPInfo()
        self.hasNoRemote = report.remote.address.isUnspecified
        self.isTorn = report.remote.port == 0 && !self.hasNoRemote
        self.isEstablished =
            info.acknowledgedBytes > 0 || info.deliveredSegments > 0 || info.shortestRoundTrip != nil
            || info.sendWindow > 0
        // Wrapping arithmetic, because messages may hold any value.
        let waiting = Int64(report.sendQueue) - Int64(info.unsentBytes)
        let sent = Int64(bitPattern: info.sentBytes &- info.retransmittedBytes)
        self.controlBytes = Int(truncatingIfNeeded: Int64(bitPattern: info.acknowledgedBytes) &+ waiting &- sent)
    }
}
