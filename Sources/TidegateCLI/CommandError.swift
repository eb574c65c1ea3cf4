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
struct ExitStatus: Hashable {
    /// The number for exit(3).
    let number: Int32

    /// No, or failed.
    static let no = ExitStatus(number: 1)
    /// Usage or internal error.
    static let usage = ExitStatus(number: 2)
    /// Unknown.
    static let unknown = ExitStatus(number: 3)
    /// Gave up waiting for a path.
    static let gaveUp = ExitStatus(number: 75)
    /// The command to run cannot be executed.
    static let notRunnable = ExitStatus(number: 126)
    /// The command to run does not exist.
    static let notFound = ExitStatus(number: 127)

    /// Terminated by a signal.
    static func signal(_ number: Int32) -> ExitStatus { ExitStatus(number: 128 + number) }
}
