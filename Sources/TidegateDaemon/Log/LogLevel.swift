internal import Logging

/// The values of `--log.level`.
package enum LogLevel: String, Sendable, CaseIterable {
    case debug, info, warn, error

    var level: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .warn: .warning
        case .error: .error
        }
    }
}
