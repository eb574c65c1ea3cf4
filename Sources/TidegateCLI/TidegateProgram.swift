internal import ArgumentParser
internal import Glibc

/// The executable: parses the arguments, runs the command and exits with a documented status.
@main
enum TidegateProgram {
    static func main() async {
        StandardDescriptors.fill()
        let terminal = Terminal()
        do {
            let arguments = CurlOption.separated(Array(CommandLine.arguments.dropFirst()))
            SecretArguments.erase()
            let unknown = UnknownCommand.message(for: arguments, root: TidegateCommand.self)
            if let message = unknown ?? CurlOption.message(for: arguments) {
                throw CommandError(.usage, message)
            }
            var command = try TidegateCommand.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let result = ProgramExit(error, parsedBy: TidegateCommand.self)
            if let output = result.output { terminal.print(output) }
            if let message = result.errorMessage { terminal.printError(message) }
            exit(result.status)
        }
    }
}
