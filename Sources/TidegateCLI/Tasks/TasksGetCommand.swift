internal import ArgumentParser
internal import TidegateServer

/// `tidegate tasks get`.
struct TasksGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Copy the body that a task received.",
        discussion: """
            The daemon sends the file of a download that succeeded, or else the body that it keeps (see "tasks show"). \
            The copy is written by this command and belongs to its user. It appears under its name only when it is \
            complete. Without -o it is written to standard output; a terminal gets a binary body only with -o -.

            Members of the socket's group get files of tasks that members submitted; root and the daemon's user get \
            the file of any task.

            Examples:
              tidegate tasks get iso -o big.iso
              tidegate tasks get nightly-backup | jq .

            Exit status: 0 on success, 1 if there is no such task, its body is not kept, or its file is gone, has \
            changed or is not for this user; 2 for usage errors.
            """)

    @Argument(help: ArgumentHelp("Key, name, id or unambiguous beginning of an id.", valueName: "task"))
    var task: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the body to this file; - is standard output.", valueName: "file"))
    var output: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if self.control.json {
            throw ValidationError("--json does not apply to \"tasks get\", which writes the raw body")
        }
    }

    func run() async throws {
        let output = try FetchPlan.output(self.output)
        let id = try await self.control.id(of: self.task)
        guard let path = self.output, output != .standardOutput(isNamed: true) else {
            return try await self.print(id, isNamed: output == .standardOutput(isNamed: true))
        }
        let file = try OutputFile(path, of: "-o", mode: 0o666)
        do throws(CommandError) {
            try await self.receive(id) { file.write($0) }
        } catch {
            file.discard()
            throw error
        }
        if let error = file.finish() { throw error }
    }

    private func print(_ id: String, isNamed: Bool) async throws(CommandError) {
        let terminal = Terminal()
        var check = BinaryCheck()
        try await self.receive(id) { bytes in
            if !isNamed, terminal.isOutputTerminal, check.isBinary(bytes) {
                return CommandError(.no, TerminalBody.message)
            }
            if let error = terminal.write(bytes) { error.exitProgram() }
            return nil
        }
    }

    // Ends at the first piece that cannot be written.
    private func receive(_ id: String, _ write: ([UInt8]) -> CommandError?) async throws(CommandError) {
        try await self.control.connecting(
            try await self.control.client.body(id) { bytes throws(ControlClientError) in
                if let error = write(bytes) { throw ControlClientError(.notWritten, error.message ?? "") }
            })
    }
}
