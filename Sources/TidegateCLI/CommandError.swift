internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// A non-zero exit of a command: its status and the message for standard error.
struct CommandError: Error, Hashable {
    var status: ExitStatus
    /// The last line on standard error, without the program's name; nil if everything has already been printed.
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

    /// The exit status for `status`; nil if everything is routed.
    ///
    /// Depends on the targets if any are configured, and on the network otherwise.
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

    /// A malformed request is a usage error.
    ///
    /// A missing daemon, a closed connection, an unknown task and a full disk are not.
    init(_ failure: ControlClientError) {
        let isUsage = [.refused(status: 400), .exchangeFailed].contains(failure.reason)
        self.init(isUsage ? .usage : .no, failure.description)
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

/// What the program prints for an error that ends a command, and its exit status.
struct ProgramExit: Hashable {
    var status: Int32
    /// For standard output: help, the version and completion scripts.
    var output: String?
    /// For standard error.
    var errorMessage: String?
}

extension ProgramExit {
    /// ArgumentParser's own errors become one line, and its status 64 becomes 2.
    init(_ error: any Error, parsedBy root: any ParsableCommand.Type) {
        if let error = error as? CommandError {
            self.init(status: error.status.number, errorMessage: error.message.map { "tidegate: \($0)" })
            return
        }
        let code = root.exitCode(for: error)
        guard code != .success else {
            self.init(status: 0, output: ProgramExit.repairedFishCompletion(root.fullMessage(for: error)))
            return
        }
        let message = root.message(for: error)
        // One that ends a sentence has a suggestion.
        let isSuggestion = message.hasSuffix("?") || message.hasSuffix(".")
        let hint = isSuggestion ? "" : ProgramExit.helpHint(error, in: root.fullMessage(for: error))
        self.init(
            status: code == .validationFailure || code == .failure ? ExitStatus.usage.number : code.rawValue,
            errorMessage: message.isEmpty ? nil : "tidegate: \(ProgramExit.lowercased(message))\(hint)")
    }

    /// Names the command's help after what the parser itself refuses; errors of our own say what to do.
    private static func helpHint(_ error: any Error, in text: String) -> String {
        let problem = Mirror(reflecting: error).descendant("parserError").map { "\($0)" } ?? "userValidationError"
        guard !problem.hasPrefix("userValidationError"), let start = text.firstRange(of: "  See '"),
            let end = text[start.upperBound...].firstIndex(of: "'")
        else { return "" }
        return " (see \(text[start.upperBound..<end]))"
    }

    // The message follows "tidegate:" on the same line; acronyms keep their capitals.
    private static func lowercased(_ message: String) -> String {
        let rest = message.dropFirst()
        guard let first = message.first, rest.first?.isLowercase == true || rest.first == " " else { return message }
        return first.lowercased() + rest
    }

    /// Breaks an endless loop in a fish completion script; returns any other text unchanged.
    ///
    /// fish's argparse rejects option names that contain a full stop, such as `--control.socket`. The script ignores
    /// that error, so its loop never ends.
    private static func repairedFishCompletion(_ text: String) -> String {
        let call = #"argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null"#
        guard text.contains("function __tidegate_parse_subcommand"), let range = text.firstRange(of: call) else {
            return text
        }
        return text[..<range.upperBound] + "; or break" + text[range.upperBound...]
    }
}
