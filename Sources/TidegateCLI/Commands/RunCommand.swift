internal import ArgumentParser
internal import Tidegate

/// `tidegate run`: a command behind a gate, which is run again after a failure that a lost path explains.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command once there is a path; run it again if the path was lost.",
        discussion: """
            Waits for the conditions, then runs the command. If it fails and the path was lost or moved while it ran \
            or within two seconds after it ended, it is run again once there is a path. Any other failure is final.

            \(ConditionText.help)

            Examples:
              tidegate run -- rsync -a src dst:
              tidegate run --for host:db.example:5432 --timeout 1h -- ./migrate

            Exit status: that of the command; 75 if the conditions did not hold within --timeout; 126 if the command \
            cannot be executed, 127 if it does not exist.
            """)

    @OptionGroup var options: RunOptions

    func run() async throws {
        let terminal = Terminal()
        try self.options.gate.authority.check()
        let isQuiet = self.options.gate.quiet
        let run = CommandRun(
            options: try self.options.parsed(), command: self.options.command,
            display: WaitDisplay(terminal, isQuiet: isQuiet)
        ) {
            if !isQuiet { terminal.printError($0) }
        }
        if let error = await run.run() { throw error }
    }
}
