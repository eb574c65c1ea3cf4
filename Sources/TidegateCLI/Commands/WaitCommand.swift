internal import ArgumentParser
internal import Tidegate

/// `tidegate wait`: until conditions hold; then, optionally, a command.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until network conditions hold.",
        discussion: """
            \(ConditionText.help)

            With -- COMMAND, executes the command once the conditions hold.

            Examples:
              tidegate wait && git pull
              tidegate wait --for dns --stable 5s -- ./sync
              tidegate wait --for https://api.example.com/health --timeout 10m
              tidegate wait --for host:db.example:5432 --timeout 0

            Exit status: 0 if the conditions hold, or that of the command; 75 if they did not hold within --timeout, \
            1 if they do not hold now and --timeout is 0; 126 if the command cannot be executed, 127 if it does not \
            exist. The last line on standard error names the condition that is not met.
            """)

    @OptionGroup var options: WaitOptions

    func run() async throws {
        try self.options.gate.authority.check()
        let options = try self.options.parsed()
        let monitor = OneShotMonitor(targets: options.wait.targets)
        let display = WaitDisplay(Terminal(), isQuiet: self.options.gate.quiet)
        if let message = await monitor.wait(options, display) {
            throw CommandError(options.wait.timeout == .zero ? .no : .gaveUp, message)
        }
        guard !self.options.command.isEmpty else { return }
        throw CommandStart.replaceProcess(self.options.command)
    }
}
