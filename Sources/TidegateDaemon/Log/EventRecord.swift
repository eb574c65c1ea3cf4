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
        case .text(let text): text.map { .text($0) }
        case .word(let code?, let text?): .word(code, text)
        case .word: nil
        case .url(let url): .text(URLRedaction().text(of: url))
        case .integer(let number): number.map { .integer($0) }
        case .number(let number): number.map { .number($0) }
        case .flag(let flag): .flag(flag)
        case .duration(let duration): duration.map { .duration($0) }
        case .systemError(let number): .text(TextFile.errorMessage(number))
        case .json(let value): .text("\(value)")
        }
    }
}
