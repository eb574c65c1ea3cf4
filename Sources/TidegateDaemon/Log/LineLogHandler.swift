package import Logging
package import TidegateCore

/// Writes log records as lines of logfmt or JSON.
package struct LineLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let format: LogFormat
    private let time: any TimeSource
    private let write: @Sendable (String) -> Void

    /// A handler that passes whole lines, line ends included, to `write`.
    package init(
        level: Logger.Level, format: LogFormat, time: any TimeSource,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.logLevel = level
        self.format = format
        self.time = time
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
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
