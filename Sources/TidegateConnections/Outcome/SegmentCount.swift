internal import TidegateCore
internal import TidegateNetwork

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
