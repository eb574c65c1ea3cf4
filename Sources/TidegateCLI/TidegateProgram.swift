internal import ArgumentParser
internal import Glibc

/// The executable: reads the words, runs the command, and ends with a code of the contract.
@main
enum TidegateProgram {
    static func main() async {
        StandardDescriptors.fill()
        let terminal = Terminal()
        do {
            let words = Array(CommandLine.arguments.dropFirst())
            if let problem = CommandText.problem(words, TidegateCommand.self) { throw Ending(.usage, problem) }
            var command = try TidegateCommand.parseAsRoot(words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let farewell = CommandError(error, parsedBy: TidegateCommand.self)
            if let answer = farewell.answer { terminal.answer(answer) }
            if let complaint = farewell.complaint { terminal.note(complaint) }
            exit(farewell.code)
        }
    }
}
