/// Something that happened while samples are sent to a receiver.
///
/// `pending` is the size of the buffer's files at that time, in bytes; `isNews` is true if the last event of the kind
/// differed.
public enum RemoteWriteEvent: Sendable, Hashable {
    /// The buffer was opened, with so many samples that an earlier process left there.
    case opened(samples: Int, pending: Int64)
    /// So many samples were put into the buffer.
    case kept(samples: Int, pending: Int64)
    /// The receiver has taken so many samples; news after a failure or a loss.
    case delivered(samples: Int, pending: Int64, isNews: Bool)
    /// An attempt failed, and the same samples are sent again later; news for the first failure of its kind in a row.
    case failed(RemoteWriteFailure, isNews: Bool)
    /// So many samples are lost; news for the first loss of its kind in a row.
    indirect case dropped(RemoteWriteLoss, samples: Int, detail: String?, pending: Int64, isNews: Bool)

    /// True if the event is shown, and not just counted.
    package var isNews: Bool {
        switch self {
        case .opened: true
        case .kept: false
        case .delivered(samples: _, pending: _, let isNews), .failed(_, let isNews): isNews
        case .dropped(_, samples: _, detail: _, pending: _, let isNews): isNews
        }
    }

    var projection: EventProjection {
        switch self {
        case .opened(let samples, let pending):
            EventProjection(
                "daemon.remoteWriteOpened", .info, "remote write started",
                "remote write started; samples of an earlier run: \(samples)",
                [.both("samples", samples, log: "waiting")] + Self.buffer(pending))
        case .kept(let samples, let pending):
            EventProjection(
                "daemon.remoteWriteKept", .debug, "samples queued", "samples kept: \(samples)",
                [.both("samples", samples)] + Self.buffer(pending))
        case .delivered(let samples, let pending, let isNews):
            EventProjection(
                "daemon.remoteWriteDelivered", isNews ? .info : .debug,
                isNews ? "remote write recovered" : "samples delivered",
                isNews ? "samples are delivered again" : "samples delivered",
                [.both("samples", samples)] + Self.buffer(pending))
        case .failed(let failure, let isNews):
            EventProjection(
                "daemon.remoteWriteFailed", isNews ? .warning : .debug, "remote write failed, will retry",
                "samples cannot be sent: \(failure.explanation ?? failure.reason.description)",
                [
                    .json("reason", failure.reason.rawValue), .log("reason", failure.reason.label),
                    .both("status", failure.status), .both("party", .word(failure.party)),
                    .both("error", failure.explanation),
                ])
        case .dropped(let loss, let samples, let detail, let pending, let isNews):
            EventProjection(
                "daemon.remoteWriteDropped", isNews ? .warning : .debug, "samples dropped",
                "\(samples) samples lost: \(loss)",
                [
                    .json("reason", loss.rawValue), .log("reason", loss.label), .both("samples", samples),
                    .both("detail", detail),
                ] + Self.buffer(pending))
        }
    }

    private static func buffer(_ pending: Int64) -> [EventProjection.Field] {
        [.json("pendingBytes", pending), .log("buffer", "\(ByteText(pending))")]
    }
}

/// Why an attempt to send samples failed.
public struct RemoteWriteFailure: Sendable, Hashable {
    /// What failed.
    package var reason: TaskFailure
    /// The receiver's status; nil if none came.
    package var status: Int?
    /// The responsible party; nil if no host was contacted.
    package var party: FaultParty?
    /// What went wrong in one clause, if there are details.
    package var explanation: String?

    /// A failure from its parts.
    package init(_ reason: TaskFailure, status: Int? = nil, party: FaultParty? = nil, explanation: String? = nil) {
        (self.reason, self.status, self.party, self.explanation) = (reason, status, party, explanation)
    }
}

/// Why samples for a receiver are lost.
public enum RemoteWriteLoss: String, Sendable, MetricLabel, CustomStringConvertible {
    /// The receiver refused them for good: its status was one of 400 to 499, and not 429.
    case refused
    /// The buffer was full, and they were the oldest.
    case bufferFull
    /// Their file in the buffer is damaged.
    case damaged
    /// The disk did not take them, and they could not be sent immediately.
    case disk

    /// The loss as a clause: `the receiver refused them`.
    public var description: String {
        switch self {
        case .refused: "the receiver refused them"
        case .bufferFull: "the buffer was full"
        case .damaged: "their file is damaged"
        case .disk: "the disk did not take them"
        }
    }
}
