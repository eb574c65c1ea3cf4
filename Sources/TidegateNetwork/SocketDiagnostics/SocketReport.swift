package import TidegateCore

/// What the kernel says of one socket: `struct inet_diag_msg` with its attributes (sock_diag(7)).
package struct SocketReport: Sendable, Hashable {
    /// The states of TCP (include/net/tcp_states.h); other protocols use two of them.
    package enum State: UInt8, Sendable, Hashable, CaseIterable {
        case established = 1
        case synSent, synReceived, finWait1, finWait2, timeWait, close, closeWait, lastAck, listen, closing
        case newSynReceived, boundInactive
    }

    /// What the socket waits for (the field `idiag_timer`).
    package enum Timer: UInt8, Sendable, Hashable {
        case none
        /// A retransmission, also one that looks for a lost tail (RFC 8985).
        case retransmission
        /// A keepalive probe, or what no other case names.
        case keepalive
        case timeWait
        /// A probe of a window that the peer has closed (RFC 9293 3.8.6.1).
        case windowProbe
    }

    /// An address with a port, as a socket has it; 0 and the unspecified address are "none".
    package struct Endpoint: Sendable, Hashable {
        /// The address; one that IPv6 maps (RFC 4291 2.5.5.2) is the IPv4 address that it means.
        package var address: IPAddress
        package var port: UInt16
    }

    /// The protocol number: 6 is TCP, 17 UDP (RFC 5237).
    package var protocolNumber: UInt8 = 6
    package var state: State
    package var timer: Timer = .none
    /// Expiries of ``timer`` without an answer.
    package var timerExpiries: UInt8 = 0
    /// How long until ``timer`` expires.
    package var timeLeft: Duration = .zero
    package var local: Endpoint
    package var remote: Endpoint
    /// The interface that the socket is bound to (SO_BINDTODEVICE); 0 for none.
    package var interface: UInt32 = 0
    /// The number that no other socket has had since the machine started (SO_COOKIE in socket(7)).
    package var cookie: UInt64 = 0
    /// Bytes that the program has not read.
    package var receiveQueue: UInt32 = 0
    /// Bytes that the peer has not acknowledged, with those that are not sent, and the FIN.
    package var sendQueue: UInt32 = 0
    /// The user of the program that created the socket; 0 in a report of a socket that ended.
    package var user: UInt32 = 0
    /// The socket's inode; 0 for one that nobody has accepted, or that ended.
    package var inode: UInt32 = 0
    /// The number of the control group in which it was created (cgroups(7)); nil if the kernel does not say.
    package var controlGroup: UInt64?
    /// How the connection fares; nil where the kernel does not say.
    package var tcp: TCPInfo?
}
