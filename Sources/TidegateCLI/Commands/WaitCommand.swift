internal import ArgumentParser
internal import Tidegate

/// `tidegate wait`: until conditions hold; then, optionally, a command.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until network conditions hold.",
        discussion: """
            \(ConditionText.help)

            With -- COMMAND, executes the command once the conditions hold.

            Exit status: 0 if the conditions hold, 1 if they did not hold within --timeout; the last line on standard \
            error names the condition that is not met.
            """)

    @OptionGroup var options: WaitOptions

    func run() async throws {
        let terminal = Terminal()
        let options = try self.options.parsed()
        let monitor = OneShotMonitor(targets: options.wait.targets)
        let message = await monitor.wait(options) { if !options.isQuiet { terminal.printError($0) } }
        if let message { throw CommandError(.no, message) }
        guard !self.options.command.isEmpty else { return }
        throw CommandStart.replaceProcess(self.options.command)
    }
}
