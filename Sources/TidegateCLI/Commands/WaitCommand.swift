internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

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

    @OptionGroup var gate: GateOptions

    @Flag(help: "Wait until any of the conditions holds, instead of all.")
    var any = false

    @Option(help: .value("duration", "Require the conditions to hold this long without a break."))
    var stable = "0"

    @Option(help: .value("duration", "Maximum time to wait; 0 tests once, inf waits forever."))
    var timeout = "2m"

    @Argument(parsing: .postTerminator, help: "The command to execute once the conditions hold, after --.")
    var command: [String] = []

    func parsed() throws -> GateOptions.Parsed {
        guard let stable = try OptionParsing.duration(self.stable, of: "--stable").duration else {
            throw ValidationError("--stable: must be finite")
        }
        let timeout = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        if let timeout, timeout != .zero, stable > timeout {
            throw ValidationError("--stable \(self.stable) is longer than --timeout \(self.timeout)")
        }
        var parsed = try self.gate.parsed(timeout: timeout)
        parsed.wait.isAnyEnough = self.any
        parsed.wait.stable = stable
        return parsed
    }

    func validate() throws { _ = try self.parsed() }

    func run() async throws {
        try self.gate.authority.check()
        let options = try self.parsed()
        let inherited = Inheritance.current()
        let monitor = OneShotMonitor(targets: options.wait.targets)
        let display = WaitDisplay(Terminal(), self.gate.verbosity)
        if let message = await monitor.wait(options, display) {
            throw CommandError(options.wait.timeout == .zero ? .no : .gaveUp, message)
        }
        guard !self.command.isEmpty else { return }
        throw ChildProcess.replaceProcess(self.command, passingOn: inherited)
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

    @OptionGroup var gate: GateOptions

    @Option(help: .value("n", "Maximum number of retries after failures with a lost path."))
    var retry = 3

    @Option(help: .value("duration", "Maximum time to wait for a path; 0 tests once, inf waits forever."))
    var timeout = "10m"

    @Argument(parsing: .postTerminator, help: "The command to run, after --.")
    var command: [String] = []

    /// The gate that opens before each run.
    func parsed() throws -> GateOptions.Parsed {
        guard !self.command.isEmpty else { throw ValidationError("no command specified; give it after --") }
        try OptionParsing.checkRetries(self.retry)
        let timeout = try OptionParsing.duration(self.timeout, of: "--timeout").duration
        return try self.gate.parsed(timeout: timeout)
    }

    func validate() throws { _ = try self.parsed() }

    func run() async throws {
        let terminal = Terminal()
        try self.gate.authority.check()
        let verbosity = self.gate.verbosity
        let run = CommandRun(
            options: try self.parsed(), retryLimit: self.retry, command: self.command,
            display: WaitDisplay(terminal, verbosity)
        ) {
            if !verbosity.quiet { terminal.printError($0) }
        }
        if let error = await run.run() { throw error }
    }
}
