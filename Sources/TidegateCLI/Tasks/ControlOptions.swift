internal import ArgumentParser
internal import TidegateServer
internal import TidegateDaemon

/// The daemon to connect to, and the output format.
struct ControlOptions: ParsableArguments {
    @Option(
        name: .customLong("control.socket"),
        help: ArgumentHelp(
            "Control socket of the daemon (default: \(Terminal.defaultPaths.socket)).", valueName: "path"))
    var socket: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if self.socket == "" { throw ValidationError("--control.socket: path is empty") }
    }

    var client: ControlClient { ControlClient(socket: self.socket ?? Terminal.defaultPaths.socket) }

    /// Prints a response: the daemon's JSON, or lines of text.
    func show<Value>(_ reply: ControlReply<Value>, _ lines: (Value, TextStyle) -> [String]) {
        let terminal = Terminal()
        guard !self.json else { return terminal.print(reply.text) }
        for line in lines(reply.value, terminal.outputStyle) { terminal.print(line) }
    }

    /// Runs requests to the daemon; a failure ends the command.
    func connecting(_ work: () async throws(ControlClientError) -> Void) async throws {
        do {
            try await work()
        } catch {
            throw CommandError(error)
        }
    }
}
