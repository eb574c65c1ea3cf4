internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// A command's exit other than success: a status and a message for standard error.
struct CommandError: Error, Hashable {
    var status: ExitStatus
    /// The last line on standard error, without the program's name; nil if everything has been printed already.
    var message: String?

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }
}

/// The errors of commands as exit statuses.
extension CommandError {
    /// An invalid configuration is a usage error; a port in use is not.
    init(_ error: DaemonError) {
        switch error {
        case .configuration: self.init(.usage, error.description)
        case .resource: self.init(.no, error.description)
        }
    }

    /// The exit status of `status`: by the targets if there are any, by the network otherwise; nil if all are routed.
    init?(for status: ReachabilityStatus) {
        let levels = status.targets.isEmpty ? [status.global.level] : status.targets.map(\.verdict.level)
        if levels.contains(where: { $0 != .unknown && $0 < .routed }) {
            self.init(.no)
        } else if levels.contains(.unknown) {
            self.init(.unknown)
        } else {
            return nil
        }
    }

    /// The exit status of `explain`; nil if the target was reached.
    init?(for explanation: Explanation) {
        switch explanation.conclusion {
        case .works, .worksBut: return nil
        case .broken: self.init(.no)
        case .notChecked: self.init(.unknown)
        }
    }

    /// A request that the daemon rejects as malformed is a usage error; a missing daemon, a closed connection, an unknown
    /// task and a full disk are not.
    init(_ failure: ControlClientError) {
        switch failure.reason {
        case .refused(status: 400): self.init(.usage, failure.description)
        case .noDaemon, .notAllowed, .disconnected, .refused, .notWritten: self.init(.no, failure.description)
        case .exchangeFailed: self.init(.usage, failure.description)
        }
    }
}

/// The exit statuses that scripts rely on.
enum ExitStatus: Hashable {
    /// No, or failed.
    case no
    /// Usage or internal error.
    case usage
    /// Unknown.
    case unknown
    /// Gave up waiting for a path.
    case gaveUp
    /// The command to run cannot be executed.
    case notRunnable
    /// The command to run does not exist.
    case notFound
    /// Terminated by a signal.
    case signal(Int32)
    /// The status of the command that was run.
    case command(Int32)

    /// The number for exit(3).
    var number: Int32 {
        switch self {
        case .no: 1
        case .usage: 2
        case .unknown: 3
        case .gaveUp: 75
        case .notRunnable: 126
        case .notFound: 127
        case .signal(let number): 128 + number
        case .command(let number): number
        }
    }
}
