extension RemoteWriteEvent {
    /// What happened, behind `daemon.`.
    var name: String {
        switch self {
        case .opened: "remoteWriteOpened"
        case .kept: "remoteWriteKept"
        case .delivered: "remoteWriteDelivered"
        case .failed: "remoteWriteFailed"
        case .dropped: "remoteWriteDropped"
        }
    }

    var members: [JSONValue.Member] {
        switch self {
        case .opened(let samples, let pending), .kept(let samples, let pending),
            .delivered(let samples, let pending, isNews: _):
            [.init("samples", .integer(Int64(samples))), .init("pendingBytes", .integer(pending))]
        case .failed(let failure, isNews: _):
            [
                .init("reason", .string(failure.reason.rawValue)),
                .init("status", failure.status.map { .integer(Int64($0)) } ?? .null),
                .init("party", .optional(failure.party?.rawValue)), .init("error", .optional(failure.explanation)),
            ]
        case .dropped(let loss, let samples, let detail, let pending, isNews: _):
            [
                .init("reason", .string(loss.rawValue)), .init("samples", .integer(Int64(samples))),
                .init("detail", .optional(detail)), .init("pendingBytes", .integer(pending)),
            ]
        }
    }
}
