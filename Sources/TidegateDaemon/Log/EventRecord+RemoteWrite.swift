internal import Logging
internal import TidegateCore

extension EventRecord {
    /// The log record of a remote-write event: changes at a visible level, the rest at debug.
    init(_ event: RemoteWriteEvent) {
        let level: Logger.Level = event.isNews ? .warning : .debug
        switch event {
        case .opened(let samples, let pending):
            self.init(.info, "remote write started", ["waiting": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .kept(let samples, let pending):
            self.init(.debug, "samples queued", ["samples": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .delivered(let samples, let pending, let isNews):
            self.init(
                isNews ? .info : .debug, isNews ? "remote write recovered" : "samples delivered",
                ["samples": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .failed(let failure, isNews: _):
            self.init(level, "remote write failed, will retry", ["reason": "\(failure.reason.label)"])
            self.put("status", failure.status)
            self.put("party", failure.party?.rawValue)
            self.put("error", failure.explanation)
        case .dropped(let loss, let samples, let detail, let pending, isNews: _):
            self.init(
                level, "samples dropped",
                ["reason": "\(loss.label)", "samples": "\(samples)", "buffer": "\(ByteText(pending))"])
            self.put("detail", detail)
        }
    }
}
