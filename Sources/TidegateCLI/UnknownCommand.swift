internal import ArgumentParser
internal import TidegateDaemon

/// Finds an unknown command name before the parser does.
///
/// The parser would take it for an argument, and complain about the first option after it.
enum UnknownCommand {
    /// The error message for `arguments`; nil if they begin with known commands.
    static func message(for arguments: [String], root: any ParsableCommand.Type) -> String? {
        var command = root
        for argument in arguments {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-"), argument != "help" else { return nil }
            guard let next = commands.first(where: { self.name($0) == argument }) else {
                let names = commands.map { self.name($0) }
                let hint =
                    NearestMatch.find(argument, among: names).map { "did you mean \"\($0)\"?" }
                    ?? "expected one of \(names.joined(separator: ", "))"
                return "unknown command \"\(argument)\" (\(hint))"
            }
            command = next
        }
        return nil
    }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? ""
    }
}
