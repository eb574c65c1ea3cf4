internal import ArgumentParser
internal import Tidegate

/// `tidegate run`: a command that waits for the path, and is run again when it failed for want of one.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command when there is a path, and again when it failed for want of one.",
        discussion: """
            Waits for the conditions (without --for: for a default route), then runs the command. Where it fails and \
            the path was lost or moved meanwhile, or within two seconds of its end, it is run again once there is a \
            path; any other failure ends this command with the code of that one. Ends with 75 when there was no path \
            in the time of --timeout. \(ConditionText.help)
            """)

    @OptionGroup var options: RunOptions

    func run() async throws {
        let terminal = Terminal()
        let values = try self.options.values()
        let run = CommandRun(values, command: self.options.command) { if !values.isQuiet { terminal.note($0) } }
        if let ending = await run.run() { throw ending }
    }
}
