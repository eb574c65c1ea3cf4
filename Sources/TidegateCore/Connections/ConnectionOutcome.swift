/// Which side opened a TCP connection.
public enum ConnectionDirection: String, Sendable, MetricLabel {
    /// A peer opened it.
    case incoming = "in"
    /// A program of this machine did.
    case outgoing = "out"
}

/// The outcome of an observed connection: of its connect, or of its end.
///
/// The table of `OutcomeClassifier` lists what the kernel shows for each one.
public enum ConnectionOutcome: String, Sendable, MetricLabel, CustomStringConvertible {
    /// The peer answered the connect.
    case established
    /// The peer refused the connect (RFC 9293 3.10.7.1).
    case refused
    /// A router reported that there is no route to the peer (ICMP type 3 or 1).
    case unreachable
    /// Nothing came back.
    case noAnswer
    /// The first packet never left this host: the next hop was not found on its link.
    case notSent
    /// The program gave up before anything could come back.
    case abandoned
    /// Both sides closed in order.
    case closed
    /// The peer reset it, or another party did in the peer's name.
    case reset
    /// The peer went silent.
    case lost
    /// A program of this machine reset it: by SO_LINGER, or by leaving data unread.
    case aborted

    /// True for the outcome of a connect; false for the end of an established connection.
    public var isOfConnect: Bool {
        switch self {
        case .established, .refused, .unreachable, .noAnswer, .notSent, .abandoned: true
        case .closed, .reset, .lost, .aborted: false
        }
    }

    /// True if a party's failure may be the cause.
    public var isFailure: Bool {
        switch self {
        case .refused, .unreachable, .noAnswer, .notSent, .reset, .lost: true
        case .established, .abandoned, .closed, .aborted: false
        }
    }

    /// The outcome for display: `no answer`.
    public var description: String {
        switch self {
        case .established: "established"
        case .refused: "refused"
        case .unreachable: "unreachable"
        case .noAnswer: "no answer"
        case .notSent: "not sent"
        case .abandoned: "given up"
        case .closed: "closed"
        case .reset: "reset"
        case .lost: "lost"
        case .aborted: "aborted here"
        }
    }
}

/// How an observed connection hangs.
public enum ConnectionStall: String, Sendable, MetricLabel, CustomStringConvertible {
    /// A connect without an answer for a second or longer.
    case connecting
    /// Data that was sent, and sent again, is not acknowledged.
    case unanswered
    /// The peer's program does not read, so that its window is closed (RFC 9293 3.8.6).
    case window

    /// The stall for display.
    public var description: String {
        switch self {
        case .connecting: "no answer to the connect"
        case .unanswered: "no answer to what was sent"
        case .window: "the other side does not read"
        }
    }
}

/// How connections of other programs are observed, depending on what the kernel or a sandbox permits.
public enum ObservationMode: String, Sendable, MetricLabel, CustomStringConvertible {
    /// By the kernel's messages about sockets that end, and by lists of the live ones.
    case event
    /// By the messages only: lists are refused.
    case eventsOnly
    /// By lists only: the messages are refused, so that short connections are missed.
    case poll
    /// By the kernel's counters only, which name no remote.
    case counters
    /// Not at all.
    case off

    /// The mode for display, after "observed by".
    public var description: String {
        switch self {
        case .event: "messages and lists"
        case .eventsOnly: "messages only"
        case .poll: "lists only"
        case .counters: "counters only"
        case .off: "nothing"
        }
    }

    /// True if the live connections are listed.
    package var hasLists: Bool { self == .event || self == .poll }
}

/// Where a remote is, by its address.
public enum ConnectionScope: String, Sendable, MetricLabel {
    /// On the link (RFC 3927, RFC 4291 2.5.6).
    case link
    /// In private space (RFC 1918, RFC 4193, RFC 6598).
    case `private`
    /// Anywhere else.
    case `public`

    /// The scope of an address.
    package init(_ address: IPAddress) {
        self = address.isLinkLocal ? .link : address.isGlobal ? .public : .private
    }
}
