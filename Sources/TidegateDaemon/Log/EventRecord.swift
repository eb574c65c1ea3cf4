internal import Logging
internal import TidegateCore

/// The log line of an event; nil for events that only metrics count.
struct EventRecord {
    let level: Logger.Level
    let message: String
    var fields: Logger.Metadata = [:]

    /// True for events that may be logged; others must not take their place in the subscription's buffer.
    static func isLoggable(_ event: Event) -> Bool { event.relevance > .metrics }

    init?(_ event: Event) {
        let projection = event.projection
        guard projection.level > .trace, event.relevance > .metrics else { return nil }
        self.level = projection.level.loggerLevel
        self.message = projection.message
        for field in projection.fields {
            if let key = field.logKey, let value = field.value.logValue { self.fields[key] = .stringConvertible(value) }
        }
    }
}

extension Event.Level {
    fileprivate var loggerLevel: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}

extension EventProjection.Value {
    /// The value as it stands in a line; nil for what is not known.
    fileprivate var logValue: LogValue? {
        switch self {
        case .text(let text): text.map { LogValue($0) }
        // Words for people in logfmt, and the name in JSON.
        case .word(let code?, let text?): LogValue(text, json: .string(code))
        case .word: nil
        case .url(let url): LogValue(URLRedaction().text(of: url))
        case .integer(let number): number.map { LogValue("\($0)", json: .integer($0)) }
        case .number(let number): number.map { LogValue("\($0)", json: .number($0)) }
        case .flag(let flag): LogValue("\(flag)", json: .bool(flag))
        case .duration(let duration): duration.map { LogValue("\(DurationText($0))", json: .seconds($0)) }
        case .systemError(let number): LogValue(TextFile.errorMessage(number))
        case .json(let value): LogValue("\(value)")
        }
    }
}
