internal import Glibc

/// `struct tcp_info` (include/uapi/linux/tcp.h), as far as connections are judged by it.
///
/// Its length differs by kernel: what a shorter one does not have is 0.
package struct TCPInfo: Sendable, Hashable {
    /// Timeouts of the segment that waits now.
    package var retransmits: UInt8 = 0
    /// Probes of a keepalive or of a window that nobody answered.
    package var probes: UInt8 = 0
    /// The timeout after which is retransmitted, in microseconds.
    package var retransmissionTimeout: UInt32 = 0
    /// The largest segment that is sent, in bytes.
    package var sentSegmentSize: UInt32 = 0
    /// Packets that were sent and are not acknowledged; of a listener, connections that nobody accepted.
    package var unacknowledged: UInt32 = 0
    /// Milliseconds since data was sent.
    package var lastDataSent: UInt32 = 0
    /// Milliseconds since data was received.
    package var lastDataReceived: UInt32 = 0
    /// Milliseconds since an acknowledgement was received.
    package var lastAcknowledgement: UInt32 = 0
    /// The smoothed round trip in microseconds; the acknowledgement of a FIN may have raised it.
    package var roundTrip: UInt32 = 0
    /// Retransmitted segments.
    package var retransmittedSegments: UInt32 = 0
    /// Bytes that the peer acknowledged; SYN and FIN count one each.
    package var acknowledgedBytes: UInt64 = 0
    /// Bytes that came; the peer's FIN counts one.
    package var receivedBytes: UInt64 = 0
    /// Sent segments.
    package var sentSegments: UInt32 = 0
    /// Received segments.
    package var receivedSegments: UInt32 = 0
    /// Received segments with data, which a FIN alone is not.
    package var receivedDataSegments: UInt32 = 0
    /// Bytes in the send queue that were never sent.
    package var unsentBytes: UInt32 = 0
    /// The shortest round trip in microseconds; nil without a sample.
    package var shortestRoundTrip: UInt32?
    /// Segments that arrived, as the peer said.
    package var deliveredSegments: UInt32 = 0
    /// Bytes that were sent, also again.
    package var sentBytes: UInt64 = 0
    /// Bytes that were sent again.
    package var retransmittedBytes: UInt64 = 0
    /// The window that the peer announced, in bytes.
    package var sendWindow: UInt32 = 0

    package init() {}
}

extension TCPInfo {
    /// From an attribute of any length.
    init(_ bytes: UnsafeRawBufferPointer) {
        func byte(_ offset: Int) -> UInt8 { offset < bytes.count ? bytes[offset] : 0 }
        func word(_ offset: Int) -> UInt32 {
            offset + 4 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) : 0
        }
        func long(_ offset: Int) -> UInt64 {
            offset + 8 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) : 0
        }
        self.retransmits = byte(2)
        self.probes = byte(3)
        self.retransmissionTimeout = word(8)
        self.sentSegmentSize = word(16)
        self.unacknowledged = word(24)
        self.lastDataSent = word(44)
        self.lastDataReceived = word(52)
        self.lastAcknowledgement = word(56)
        self.roundTrip = word(68)
        self.retransmittedSegments = word(100)
        self.acknowledgedBytes = long(120)
        self.receivedBytes = long(128)
        self.sentSegments = word(136)
        self.receivedSegments = word(140)
        self.unsentBytes = word(144)
        self.receivedDataSegments = word(152)
        // The kernel's own value for "none" (tcp_min_rtt).
        if bytes.count >= 152, word(148) != .max { self.shortestRoundTrip = word(148) }
        self.deliveredSegments = word(192)
        self.sentBytes = long(200)
        self.retransmittedBytes = long(208)
        self.sendWindow = word(228)
    }
}
