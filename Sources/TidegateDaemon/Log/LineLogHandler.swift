internal import Logging
internal import TidegateCore

/// Writes log records as lines of logfmt or JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    let format: LogFormat
    let time: any TimeSource
    /// Takes whole lines, line ends included.
    let write: @Sendable (String) -> Void

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var merged = self.metadata.merging(self.metadataProvider?.get() ?? [:]) { _, new in new }
        merged.merge(event.metadata ?? [:]) { _, new in new }
        if let error = event.error { merged["error"] = "\(error)" }
        let fields = merged.sorted { $0.key < $1.key }.map { (name: $0.key, value: LogValue($0.value)) }
        self.write(self.line(event.level, "\(event.message)", fields))
    }

    /// A line with its end.
    func line(_ level: Logger.Level, _ message: String, _ fields: [(name: String, value: LogValue)]) -> String {
        let line = LogLine(
            time: self.time.wall().description, level: level.rawValue, message: message, fields: fields)
        return line.text(in: self.format) + "\n"
    }
}
