/// What keeps connections from being faster while they have data to send.
package enum FlowLimit: String, Sendable, MetricLabel, CustomStringConvertible {
    /// The path, and the congestion control that follows it.
    case network
    /// The receive window of the remote: its program reads slowly, or its buffer is small.
    case remoteWindow
    /// The send buffer of the program here (SO_SNDBUF).
    case sendBuffer
    /// The program here, which gives less than the path could carry.
    case program

    /// The limit in one or two terms.
    package var description: String {
        switch self {
        case .network: "network"
        case .remoteWindow: "their window"
        case .sendBuffer: "send buffer"
        case .program: "program"
        }
    }
}

/// How long each ``FlowLimit`` held connections back, in milliseconds.
package struct FlowLimits: Sendable, Hashable {
    package var network: UInt64 = 0
    package var remoteWindow: UInt64 = 0
    package var sendBuffer: UInt64 = 0
    package var program: UInt64 = 0

    /// No time yet.
    package init() {}

    /// The time of one limit.
    package subscript(_ limit: FlowLimit) -> UInt64 {
        switch limit {
        case .network: self.network
        case .remoteWindow: self.remoteWindow
        case .sendBuffer: self.sendBuffer
        case .program: self.program
        }
    }

    /// The limit of more than half of the time; nil without such a limit, or if the whole time is less than a second.
    package var main: FlowLimit? {
        let total = FlowLimit.allCases.reduce(0) { $0 + self[$1] }
        return total < 1000 ? nil : FlowLimit.allCases.first { self[$0] * 2 > total }
    }

    /// Adds the times of another measurement.
    package static func += (left: inout FlowLimits, right: FlowLimits) {
        left.network += right.network
        left.remoteWindow += right.remoteWindow
        left.sendBuffer += right.sendBuffer
        left.program += right.program
    }
}

/// What the kernel counted on one TCP connection over a while (`struct tcp_info`, include/uapi/linux/tcp.h).
package struct Flow: Sendable, Hashable {
    /// The remote's address.
    package var address: IPAddress
    /// The program that has the connection open: its name, or its user where the name may not be read.
    package var program = ""
    /// From the first sample to the last one.
    package var time = Duration.zero
    /// How often the kernel was asked after the first time.
    package var samples = 0
    /// Segments with data that were sent, those that were sent again included.
    package var sentSegments: UInt64 = 0
    /// Segments that were sent again and had not arrived (RFC 2883).
    package var lostSegments: UInt64 = 0
    /// Whether the kernel counts lost and early segments (Linux 5.4).
    package var countsLosses = false
    /// The seconds in which segments were lost.
    package var lossySeconds: Set<UInt64> = []
    /// Segments with data that arrived.
    package var receivedSegments: UInt64 = 0
    /// Segments that arrived before an earlier one: it was lost, or overtaken.
    package var earlySegments: UInt64 = 0
    /// The seconds in which segments were early.
    package var earlySeconds: Set<UInt64> = []
    /// Bytes that the peer acknowledged.
    package var sentBytes: UInt64 = 0
    /// Bytes that arrived.
    package var receivedBytes: UInt64 = 0
    /// How long data was on its way.
    package var busy = Duration.zero
    /// How much of ``busy`` the peer's receive window held data back.
    package var limitedByPeer = Duration.zero
    /// The peer's receive window in bytes.
    package var peerWindow: UInt32 = 0
    /// The maximum segment size for sending, in bytes.
    package var segmentSize: UInt32 = 0
    /// The receive windows that this host advertised, in bytes; empty if the kernel does not say (before Linux 6.2).
    package var ownWindows: [UInt32] = []
    /// Bytes that waited for the program at each sample.
    package var unread: [UInt32] = []
    /// How long nothing had arrived at each sample.
    package var pauses: [Duration] = []
    /// Round trips of segments that were just acknowledged.
    package var roundTrips: [Duration] = []
    /// The shortest round trip of the last minutes; nil without a sample.
    package var shortestRoundTrip: Duration?
    /// The round trip as a receiver estimates it: too long if the sender pauses.
    package var receiveRoundTrip: Duration?

    /// A connection that was not watched yet.
    package init(to address: IPAddress) { self.address = address }

    /// The median of the fresh round trips; nil without one.
    package var roundTrip: Duration? { self.roundTrips.median }
    /// The median of what waited for the program, in bytes.
    package var unreadBytes: UInt32 { self.unread.median ?? 0 }
    /// In bits per second.
    package var sendRate: Double { Double(self.sentBytes) * 8 / max(self.time.inSeconds, 0.001) }
    /// In bits per second.
    package var receiveRate: Double { Double(self.receivedBytes) * 8 / max(self.time.inSeconds, 0.001) }

    /// An entry of `connections` in `quality`.
    var json: JSONValue {
        [
            "address": .string(self.address.description), "program": .string(self.program),
            "seconds": .seconds(self.time), "sentSegments": .whole(self.sentSegments),
            "lostSegments": .whole(self.lostSegments), "receivedSegments": .whole(self.receivedSegments),
            "earlySegments": .whole(self.earlySegments), "sentBytes": .whole(self.sentBytes),
            "receivedBytes": .whole(self.receivedBytes), "unreadBytes": .whole(self.unreadBytes),
            "limitedByPeerSeconds": .seconds(self.limitedByPeer), "roundTripSeconds": .seconds(self.roundTrip),
        ]
    }
}

extension Array where Element: Comparable {
    /// The middle value, or the lower one of two; nil without values.
    var median: Element? { self.isEmpty ? nil : self.sorted()[(self.count - 1) / 2] }
}
