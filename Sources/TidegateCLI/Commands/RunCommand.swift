internal import ArgumentParser
internal import Tidegate

/// `tidegate run`: a command behind a gate, which is run again after a failure that a lost path explains.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command once there is a path; run it again if the path was lost.",
        discussion: """
            Waits for the conditions (default: a default route), then runs the command. If it fails and the path was \
            lost or moved while it ran or within two seconds after it ended, it is run again once there is a path. \
            Any other failure is final.

            \(ConditionText.help)

            Exit status: that of the command, or 75 if there was no path within --timeout.
            """)

    @OptionGroup var options: RunOptions

    func run() async throws {
        let terminal = Terminal()
        let options = try self.options.parsed()
        let run = CommandRun(options, command: self.options.command) {
            if !options.isQuiet { terminal.printError($0) }
        }
        if let error = await run.run() { throw error }
    }
}
