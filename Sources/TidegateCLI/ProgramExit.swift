internal import ArgumentParser

/// What the program prints, and its exit status, for an error that ends a command.
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
            self.init(status: 0, output: FishCompletion.repaired(root.fullMessage(for: error)))
            return
        }
        let message = root.message(for: error)
        self.init(
            status: code == .validationFailure || code == .failure ? ExitStatus.usage.number : code.rawValue,
            errorMessage: message.isEmpty ? nil : "tidegate: \(ProgramExit.lowercased(message))")
    }

    // The message continues the line after "tidegate:"; acronyms keep their capitals.
    private static func lowercased(_ message: String) -> String {
        let rest = message.dropFirst()
        guard let first = message.first, rest.first?.isLowercase == true || rest.first == " " else { return message }
        return first.lowercased() + rest
    }
}

/// Repairs the completion script that ArgumentParser generates for fish(1).
enum FishCompletion {
    /// The script with a loop that ends; any other text as it is.
    ///
    /// fish's argparse refuses the name of an option with a full stop in it, such as `--control.socket`. The script does
    /// not look at that, and goes on with the words it had for ever.
    static func repaired(_ text: String) -> String {
        let call = #"argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null"#
        guard text.contains("function __tidegate_parse_subcommand"), let range = text.firstRange(of: call) else {
            return text
        }
        return text[..<range.upperBound] + "; or break" + text[range.upperBound...]
    }
}
