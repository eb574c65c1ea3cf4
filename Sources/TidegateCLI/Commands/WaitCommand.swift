internal import ArgumentParser
internal import Tidegate

/// `tidegate wait`: waits until conditions hold, then optionally runs a command.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until network conditions hold.",
        discussion: """
            \(GateOptions.conditionHelp)

            With -- COMMAND, executes the command once the conditions hold.

            Examples:
              tidegate wait && git pull
              tidegate wait --for dns --stable 5s -- ./sync
              tidegate wait --for https://api.example.com/health --timeout 10m
              tidegate wait --for host:db.example:5432 --timeout 0

            Exit status: 0 if the conditions hold, or that of the command; 75 if they did not hold within --timeout, \
            1 if they do not hold now and --timeout is 0; 126 if the command cannot be executed, 127 if it does not \
            exist. The last line on standard error names the condition that is not met; -v prints the progress every second.
            """)

    @OptionGroup var options: WaitOptions

    func run() async throws {
        try self.options.gate.authority.check()
        let options = try self.options.parsed()
        let monitor = OneShotMonitor(targets: options.wait.targets)
        let display = WaitDisplay(Terminal(), self.options.gate.verbosity)
        if let message = await monitor.wait(options, display) {
            throw CommandError(options.wait.timeout == .zero ? .no : .gaveUp, message)
        }
        guard !self.options.command.isEmpty else { return }
        throw ChildProcess.replaceProcess(self.options.command)
    }
}

/// `tidegate run`: runs a command behind a gate, and runs it again after a failure that a lost path explains.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command once there is a path; run it again if the path was lost.",
        discussion: """
            Waits for the conditions, then runs the command. If it fails and the path was lost or moved while it ran \
            or within two seconds after it ended, it is run again once there is a path. Any other failure is final.

            \(GateOptions.conditionHelp)

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
        let verbosity = self.options.gate.verbosity
        let run = CommandRun(
            options: try self.options.parsed(), retryLimit: self.options.retry, command: self.options.command,
            display: WaitDisplay(terminal, verbosity)
        ) {
            if !verbosity.quiet { terminal.printError($0) }
        }
        if let error = await run.run() { throw error }
    }
}
