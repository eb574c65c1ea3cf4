internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The options of `wait`.
struct WaitOptions: ParsableArguments {
    @OptionGroup var gate: GateOptions

    @Flag(help: "Wait until any of the conditions holds, instead of all.")
    var any = false

    @Option(help: ArgumentHelp("Require the conditions to hold this long without a break.", valueName: "duration"))
    var stable = "0"

    @Option(help: ArgumentHelp("Maximum time to wait; 0 tests once, inf waits forever.", valueName: "duration"))
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
}
