internal import Logging
internal import TidegateCore

extension EventRecord {
    /// What the log says about samples for a receiver: aloud what is news, the rest only for whoever looks closely.
    init(_ event: RemoteWriteEvent) {
        let level: Logger.Level = event.isNews ? .warning : .debug
        switch event {
        case .opened(let samples, let pending):
            self.init(.info, "remote write begins", ["waiting": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .kept(let samples, let pending):
            self.init(.debug, "samples kept", ["samples": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .delivered(let samples, let pending, let isNews):
            self.init(
                isNews ? .info : .debug, isNews ? "samples delivered again" : "samples delivered",
                ["samples": "\(samples)", "buffer": "\(ByteText(pending))"])
        case .failed(let failure, isNews: _):
            self.init(level, "samples not delivered: they wait", ["reason": "\(failure.reason.label)"])
            self.put("status", failure.status)
            self.put("party", failure.party?.rawValue)
            self.put("error", failure.explanation)
        case .dropped(let loss, let samples, let detail, let pending, isNews: _):
            self.init(
                level, "samples lost",
                ["reason": "\(loss.label)", "samples": "\(samples)", "buffer": "\(ByteText(pending))"])
            self.put("detail", detail)
        }
    }
}
