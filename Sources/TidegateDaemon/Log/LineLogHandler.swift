internal import Logging
internal import TidegateCore

/// Writes log records as lines of logfmt or JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    let format: LogFormat
    let time: any TimeSource
    /// Receives complete lines, including their ends.
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

    /// A line, including its end.
    func line(_ level: Logger.Level, _ message: String, _ fields: [(name: String, value: LogValue)]) -> String {
        let fixed = [("time", self.time.wall().description), ("level", level.rawValue), ("msg", message)]
        let pairs = fixed.map { (name: $0.0, value: LogValue($0.1)) } + fields
        return switch self.format {
        case .logfmt: pairs.map { "\($0.name)=\(LogfmtText.quoted("\($0.value)"))" }.joined(separator: " ") + "\n"
        case .json: "\(JSONValue.object(pairs.map { .init($0.name, $0.value.json) }))\n"
        }
    }
}

/// The values of `--log.level`.
package enum LogLevel: String, Sendable, CaseIterable {
    case debug, info, warn, error

    /// The level of swift-log, which spells out `warning`.
    var level: Logger.Level { Logger.Level(rawValue: self.rawValue) ?? .warning }
}

/// The values of `--log.format`.
package enum LogFormat: String, Sendable, CaseIterable {
    case logfmt, json
}

/// The value of a log field: always text in logfmt; in JSON a number or a boolean if it is one.
struct LogValue: Sendable, Hashable, CustomStringConvertible {
    let description: String
    let json: JSONValue

    /// A value that JSON writes as `json`, or as the same text if that is nil.
    init(_ description: String, json: JSONValue? = nil) {
        self.description = description
        self.json = json ?? .string(description)
    }

    /// The value of a logger's metadata; numbers and booleans keep their type.
    init(_ value: Logger.MetadataValue) {
        guard case .stringConvertible(let value) = value else {
            self.init("\(value)")
            return
        }
        switch value {
        case let value as LogValue: self = value
        case let number as Int: self.init("\(number)", json: .integer(Int64(number)))
        case let number as UInt64: self.init("\(Int64(clamping: number))", json: .integer(Int64(clamping: number)))
        case let flag as Bool: self.init("\(flag)", json: .bool(flag))
        default: self.init("\(value)")
        }
    }
}

/// The log line of an event; nil for events that only metrics count.
struct EventRecord {
    let level: Logger.Level
    let message: String
    var fields: Logger.Metadata = [:]

    /// True for events that may be logged; others must not take up space in the subscription's buffer.
    static func isLoggable(_ event: Event) -> Bool { event.relevance > .metrics }

    init?(_ event: Event) {
        let projection = event.projection
        guard projection.level > .trace, event.relevance > .metrics else { return nil }
        // Both enumerations use the same names.
        self.level = Logger.Level(rawValue: "\(projection.level)") ?? .error
        self.message = projection.message
        for field in projection.fields {
            if let key = field.logKey, let value = field.value.logValue { self.fields[key] = .stringConvertible(value) }
        }
    }
}

extension EventProjection.Value {
    /// The value as a log line shows it; nil if unknown.
    fileprivate var logValue: LogValue? {
        switch self {
        case .text(let text): text.map { LogValue($0) }
        // The readable text in logfmt, and the code in JSON.
        case .word(let code?, let text?): LogValue(text, json: .string(code))
        case .word: nil
        case .url(let url): LogValue(Secrets.path(URLRedaction().text(of: url)))
        case .integer(let number): number.map { LogValue("\($0)", json: .integer($0)) }
        case .number(let number): number.map { LogValue("\($0)", json: .number($0)) }
        case .flag(let flag): LogValue("\(flag)", json: .bool(flag))
        case .duration(let duration): duration.map { LogValue("\(DurationText($0))", json: .seconds($0)) }
        case .systemError(let number): LogValue(SystemError.message(number))
        case .json(let value): LogValue("\(value)")
        }
    }
}
