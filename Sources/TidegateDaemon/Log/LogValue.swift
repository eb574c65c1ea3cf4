internal import Logging
internal import TidegateCore

/// The value of a field of the log: text in logfmt, in JSON a number or a flag if it is one.
enum LogValue: Sendable, Hashable, CustomStringConvertible {
    case text(String)
    /// A reason or a party: its words in logfmt, which people read, and its name in JSON.
    case word(String, String)
    case integer(Int64)
    case number(Double)
    case flag(Bool)
    /// In JSON a number of seconds.
    case duration(Duration)

    var description: String {
        switch self {
        case .text(let text), .word(_, let text): text
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .duration(let duration): "\(DurationText(duration))"
        }
    }

    var json: JSONValue {
        switch self {
        case .text(let text), .word(let text, _): .string(text)
        case .integer(let number): .integer(number)
        case .number(let number): .number(number)
        case .flag(let flag): .bool(flag)
        case .duration(let duration): .seconds(duration)
        }
    }

    /// The value of a logger's metadata, which keeps its type if it is a number or a flag.
    init(_ value: Logger.MetadataValue) {
        guard case .stringConvertible(let value) = value else {
            self = .text("\(value)")
            return
        }
        switch value {
        case let value as LogValue: self = value
        case let number as Int: self = .integer(Int64(number))
        case let number as UInt64: self = .integer(Int64(clamping: number))
        case let flag as Bool: self = .flag(flag)
        default: self = .text("\(value)")
        }
    }
}
