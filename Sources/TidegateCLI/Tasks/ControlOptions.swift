internal import ArgumentParser
internal import Glibc
internal import TidegateServer
internal import TidegateDaemon
internal import TidegateCore

/// The daemon to connect to, and the output format.
struct ControlOptions: ParsableArguments {
    @OptionGroup var socket: SocketOptions

    @Flag(help: "Print JSON.")
    var json = false

    var client: ControlClient { self.socket.client() }

    /// Prints a response: the daemon's JSON, or lines of text.
    func show<Value>(_ reply: ControlReply<Value>, _ lines: (Value, TextStyle) -> [String]) {
        let terminal = Terminal()
        guard !self.json else { return terminal.print(reply.text) }
        for line in lines(reply.value, terminal.outputStyle) { terminal.print(line) }
    }

    /// Runs requests to the daemon; a failure ends the command.
    func connecting<Value>(
        _ work: @autoclosure () async throws(ControlClientError) -> Value
    ) async throws(CommandError) -> Value {
        do {
            return try await work()
        } catch {
            throw self.error(error)
        }
    }

    /// The id of the task that a word names.
    func id(of word: String) async throws(CommandError) -> String {
        if let id = TaskID(word) { return id.description }
        return try TaskReference.find(word, in: try await self.tasks())
    }

    /// Runs requests about each of several tasks; one that fails does not keep the others from being tried.
    ///
    /// - Throws: the worst of the failures; their messages are printed when they happen.
    func forEach(_ references: [String], _ work: (String) async throws(ControlClientError) -> Void) async throws {
        // Asked once, so that every reference means what it meant at the start.
        let tasks = references.allSatisfy { TaskID($0) != nil } ? [] : try await self.tasks()
        var worst: ExitStatus?
        for reference in references {
            do throws(CommandError) {
                let id = try TaskReference.find(reference, in: tasks)
                try await self.connecting(try await work(id))
            } catch {
                if let message = error.message { Terminal().printError("tidegate: \(message)") }
                worst = worst.map { $0.worse(than: error.status) } ?? error.status
            }
        }
        if let worst { throw CommandError(worst) }
    }

    private func tasks() async throws(CommandError) -> [TaskDocument] {
        try await self.connecting(try await self.client.tasks())
    }

    // A user whose own daemon does not run may mean root's.
    private func error(_ error: ControlClientError) -> CommandError {
        let root = DefaultPaths(user: 0, environment: { _ in nil }).socket
        guard [.noDaemon, .notAllowed].contains(error.reason), self.socket.socket == nil, geteuid() != 0,
            root != self.client.socket, let group = ControlClient.group(of: root)
        else { return CommandError(error) }
        let hint = "root's daemon listens on \(root), for members of the group \(group): --control.socket \(root)"
        return CommandError(.no, "no daemon of yours is listening on \(self.client.socket); \(hint)")
    }
}

extension ExitStatus {
    /// The worse of two statuses: usage errors, failures, what is not known, giving up.
    func worse(than other: ExitStatus) -> ExitStatus {
        let order: [ExitStatus] = [.usage, .no, .unknown, .gaveUp]
        return order.first { $0 == self || $0 == other } ?? self
    }
}
