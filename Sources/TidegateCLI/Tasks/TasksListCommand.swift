internal import ArgumentParser
internal import Tidegate
internal import TidegateServer

/// `tidegate tasks list`.
struct TasksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List unfinished and recently finished tasks, the newest last.",
        discussion: """
            Ids are shortened as far as they stay unambiguous. NEXT RUN is the next attempt, or the next run of a \
            scheduled task. With --json, one object with all tasks; with -q, \
            whole ids only; with -v, whole ids and URLs, one row for each task.

            Examples:
              tidegate tasks list --state waiting --state failed
              tidegate tasks list --watch

            Exit status: 0, also if there are no tasks; 1 if no daemon answers.
            """)

    @Option(help: .value("state", "Only tasks in this state (repeatable)."))
    var state: [TaskText.State] = []

    @Flag(help: "Refresh the list every second until interrupted.")
    var watch = false

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let terminal = Terminal()
        guard self.watch else {
            for line in self.lines(try await self.reply(), terminal.outputStyle) { terminal.print(line) }
            return
        }
        var renderer = TerminalRenderer()
        // At a fixed time: neither an age nor what a table leaves out is a change.
        var last: [String]?
        let start = SystemClock().wall()
        while true {
            let reply = try await self.reply()
            let now = self.lines(reply, .plain, at: start)
            if terminal.isOutputTerminal, !self.control.output.json {
                terminal.print(renderer.render(self.screen(reply, terminal)), terminator: "")
            } else if now != last {
                for line in self.lines(reply, terminal.outputStyle) { terminal.print(line) }
            }
            last = now
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func reply() async throws(CommandError) -> [TaskDocument] {
        try await self.control.connecting(try await self.control.client.tasks())
    }

    private func lines(
        _ reply: [TaskDocument], _ style: TextStyle, at now: WallTime = SystemClock().wall()
    ) -> [String] {
        let tasks = reply.filter { task in
            self.state.isEmpty || TaskText.State(task).map(self.state.contains) ?? false
        }
        if self.control.output.json {
            let object: JSONValue = ["schema": 1, "tasks": .array(tasks.map(\.json))]
            return [object.description]
        }
        if self.control.output.quiet { return tasks.map(\.id) }
        return TaskText.list(tasks, style, at: now, isVerbose: self.control.output.verbose)
    }

    // A repainted block must fit on the screen, and its lines must not wrap.
    private func screen(_ reply: [TaskDocument], _ terminal: Terminal) -> [String] {
        let (style, room) = (terminal.outputStyle, terminal.rows - 1)
        let plain = self.lines(reply, TextStyle(isColored: false, width: style.width))
        let lines = zip(plain, self.lines(reply, style)).map { plain, colored in
            LineWrapper.columns(of: plain) <= style.width ? colored : LineWrapper.cut(plain, to: style.width)
        }
        // The newest are last.
        return lines.count > room && room > 2 ? lines.prefix(1) + lines.suffix(room - 1) : lines
    }
}

extension TaskText.State: ExpressibleByArgument {}

extension ExportFormat: ExpressibleByArgument {}

/// `tidegate tasks show`.
struct TasksShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the details of a task, the body that it received, or its request.",
        discussion: """
            The daemon keeps the body of a task without -o, and that of an error response: the first 64 KiB, for the \
            last 256 tasks, in memory until it is restarted.

            --as curl prints the request as a shell command, --as har what each attempt sent and received, as HAR \
            1.2. Both are kept for the same time. For a task that ended earlier, only the method and the URL without \
            its query are left. Credentials, cookies, query values, tokens in paths and bodies are replaced unless \
            --show-secrets is given.

            Examples:
              tidegate tasks show nightly-backup
              tidegate tasks show nightly-backup --body | jq .
              tidegate tasks show nightly-backup --as curl

            Exit status: 0 on success, 1 if there is no such task or its body is not kept, 2 for usage errors.
            """)

    @Argument(help: .value("task", "Key, name, id or unambiguous beginning of an id."))
    var task: String

    @Flag(help: "Write the kept body to standard output.")
    var body = false

    @Option(name: .customLong("as"), help: .value("format", "Print the request as curl or har."))
    var format: ExportFormat?

    @Flag(help: "With --as: include credentials, cookies and query values.")
    var showSecrets = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try OptionParsing.exclude(("--body", self.body), ("--json", self.control.output.json))
        if self.format != nil, self.body || self.control.output.json {
            throw ValidationError("--as and \(self.body ? "--body" : "--json") are mutually exclusive")
        }
        if self.showSecrets, self.format == nil { throw ValidationError("--show-secrets requires --as") }
    }

    func run() async throws {
        let id = try await self.control.id(of: self.task)
        if let format {
            let text = try await self.control.connecting(
                try await self.control.client.export(id, as: format, showingSecrets: self.showSecrets))
            return Terminal().print(text)
        }
        let reply = try await self.control.connecting(try await self.control.client.task(id))
        guard self.body else {
            let isVerbose = self.control.output.verbose
            return self.control.show(reply) { TaskText.details($0, $1, at: SystemClock().wall(), isVerbose: isVerbose) }
        }
        if let file = reply.value.file, reply.value.outcome == TaskOutcome.success.rawValue {
            throw CommandError(
                .no, "the body of the task \(id) went to the file \(file); \"tidegate tasks get\" copies it")
        }
        var bytes: [UInt8] = []
        try await self.control.connecting(try await self.control.client.body(id) { bytes += $0 })
        try self.write(bytes, of: reply.value)
    }

    private func write(_ bytes: [UInt8], of task: TaskDocument) throws(CommandError) {
        let terminal = Terminal()
        let isText = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || [0x09, 0x0A, 0x0D].contains($0) }
        guard isText || !terminal.isOutputTerminal else {
            throw CommandError(
                .usage, "the body is binary (\(ByteText(Int64(bytes.count)))): redirect standard output to a file")
        }
        if let error = terminal.write(bytes) { error.exitProgram() }
        guard task.bytes > bytes.count, !bytes.isEmpty else { return }
        terminal.printError(
            "tidegate: these are the first \(ByteText(Int64(bytes.count))) of \(ByteText(task.bytes))")
    }
}

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

    @Argument(help: .value("task", "Key, name, id or unambiguous beginning of an id."))
    var task: String

    @Option(name: .shortAndLong, help: .value("file", "Write the body to this file; - is standard output."))
    var output: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if self.control.output.json {
            throw ValidationError("--json does not apply to \"tasks get\", which writes the raw body")
        }
    }

    func run() async throws {
        let output = try FetchPlan.output(self.output)
        let id = try await self.control.id(of: self.task)
        guard let path = self.output, output != .standardOutput(isNamed: true) else {
            return try await self.print(id, isNamed: output == .standardOutput(isNamed: true))
        }
        let file = try FileOutput.open(path, of: "-o").mapError(CommandError.init).get()
        do throws(CommandError) {
            try await self.receive(id) { file.write($0).map(CommandError.init) }
        } catch {
            file.discard()
            throw error
        }
        if let error = file.finish() { throw CommandError(error) }
        if self.control.output.verbose { Terminal().printError("the body of the task \(id) is in \(path)") }
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

    // Stops at the first piece that cannot be written.
    private func receive(_ id: String, _ write: ([UInt8]) -> CommandError?) async throws(CommandError) {
        try await self.control.connecting(
            try await self.control.client.body(id) { bytes throws(ControlClientError) in
                if let error = write(bytes) { throw ControlClientError(.notWritten, error.message ?? "") }
            })
    }
}
