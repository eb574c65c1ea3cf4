internal import ArgumentParser
internal import TidegateServer
internal import TidegateDaemon

/// Which daemon is meant, and how its answers are printed.
struct ControlOptions: ParsableArguments {
    @Option(
        name: .customLong("control.socket"),
        help: ArgumentHelp("The daemon's control socket (default: \(Terminal.places.socket)).", valueName: "path"))
    var socket: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if self.socket == "" { throw ValidationError("--control.socket: \"\" does not name a socket") }
    }

    var client: ControlClient { ControlClient(socket: self.socket ?? Terminal.places.socket) }

    /// Prints an answer in the daemon's own words, or as lines.
    func answer<Value>(_ reply: ControlReply<Value>, _ lines: (Value, TextStyle) -> [String]) {
        let terminal = Terminal()
        guard !self.json else { return terminal.answer(reply.text) }
        for line in lines(reply.value, terminal.answers) { terminal.answer(line) }
    }

    /// Does something with the daemon; what it refuses ends the command.
    func asking(_ work: () async throws(ControlClientError) -> Void) async throws {
        do {
            try await work()
        } catch {
            throw Ending(error)
        }
    }
}

extension Ending {
    /// What the daemon takes for malformed is a usage error; no daemon, one that goes away, an unknown task and a full
    /// disk are not.
    init(_ failure: ControlClientError) {
        switch failure.reason {
        case .refused(status: 400): self.init(.usage, failure.description)
        case .noDaemon, .disconnected, .refused: self.init(.no, failure.description)
        case .exchangeFailed: self.init(.usage, failure.description)
        }
    }
}
