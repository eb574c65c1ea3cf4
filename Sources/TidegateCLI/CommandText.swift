internal import ArgumentParser
internal import TidegateDaemon

/// Finds words that stand where a command has to.
///
/// The parser would take them for arguments, and complain about the first option behind them.
enum CommandText {
    /// What is wrong with the command that `words` begin with, in one sentence; nil where nothing is.
    static func problem(_ words: [String], _ root: any ParsableCommand.Type) -> String? {
        var (command, path) = (root, self.name(root))
        for word in words {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            guard let next = commands.first(where: { self.name($0) == word }) else {
                let names = commands.map { self.name($0) }
                let guess = NearestWord.find(word, among: names).map { "did you mean \($0)?" }
                return "\"\(word)\" is no command of \(path): \(guess ?? "there are \(names.joined(separator: ", "))")"
            }
            (command, path) = (next, "\(path) \(word)")
        }
        return nil
    }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? ""
    }
}
