internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// The daemon to connect to, and the output format.
struct ControlOptions: ParsableArguments {
    @OptionGroup var socket: SocketOptions

    @OptionGroup var output: OutputOptions

    var client: ControlClient { self.socket.client() }

    /// Prints a response: the daemon's JSON, or lines of text; nothing with `-q`.
    func show<Value>(_ reply: ControlReply<Value>, _ lines: (Value, TextStyle) -> [String]) {
        let terminal = Terminal()
        guard !self.output.json else { return terminal.print(reply.text) }
        guard !self.output.quiet else { return }
        for line in lines(reply.value, terminal.outputStyle) { terminal.print(line) }
    }

    /// Prints a task: with `-v` all its details, otherwise its id and `text`.
    func show(_ reply: ControlReply<TaskDocument>, _ text: (TaskDocument) -> String) {
        self.show(reply) { task, style in
            guard self.output.verbose else { return ["\(task.id) \(text(task))"] }
            return TaskText.details(task, style, at: SystemClock().wall(), isVerbose: true)
        }
    }

    /// Sends requests to the daemon; a failure ends the command.
    func connecting<Value>(
        _ work: @autoclosure () async throws(ControlClientError) -> Value
    ) async throws(CommandError) -> Value {
        do {
            return try await work()
        } catch {
            throw self.error(error)
        }
    }

    /// The id of the task that a word refers to.
    func id(of word: String) async throws(CommandError) -> String {
        if let id = TaskID(word) { return id.description }
        return try TaskReference.find(word, in: try await self.tasks())
    }

    /// Performs a request for each of several tasks; a failure does not stop the others.
    ///
    /// - Throws: The worst failure; each message is printed when it happens.
    func forEach(_ references: [String], _ work: (String) async throws(ControlClientError) -> Void) async throws {
        // Listed once, so that every reference keeps its meaning from the start.
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

    /// The failure of a command; if the user's own daemon is not running, the user may mean root's.
    func error(_ error: ControlClientError) -> CommandError {
        let root = DefaultPaths(user: 0, environment: { _ in nil }).socket
        guard [.noDaemon, .notAllowed].contains(error.reason), self.socket.socket == nil, geteuid() != 0,
            root != self.client.socket, let group = ControlClient.group(of: root)
        else { return CommandError(error) }
        let hint = "root's daemon listens on \(root), for members of the group \(group): --control.socket \(root)"
        return CommandError(.no, "no daemon of yours is listening on \(self.client.socket); \(hint)")
    }
}

extension ExitStatus {
    /// The worse of two statuses, from usage error over failure and unknown to giving up.
    func worse(than other: ExitStatus) -> ExitStatus {
        let order: [ExitStatus] = [.usage, .no, .unknown, .gaveUp]
        return order.first { $0 == self || $0 == other } ?? self
    }
}

/// The arguments of `suspend`, `resume` and `cancel`.
struct TaskReferenceOptions: ParsableArguments {
    @Argument(help: .value("task", "Tasks: keys, names, ids or unambiguous beginnings of ids."))
    var tasks: [String]

    @OptionGroup var control: ControlOptions

    /// Explains how commands treat several tasks.
    static let help = """
        Every task is tried, even if one fails.

        Exit status: 0 on success; of several tasks the worst: 2 for usage errors, such as a word that fits several \
        tasks, then 1 if there is no such task or no daemon answers.
        """

    func send(_ command: ControlCommand) async throws {
        try await self.control.forEach(self.tasks) { id throws(ControlClientError) in
            self.control.show(try await self.control.client.command(command, id), TaskText.state)
        }
    }
}

/// `tidegate tasks suspend`.
struct TasksSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Suspend tasks until they are resumed, also across restarts.",
        discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.suspend) }
}

/// `tidegate tasks resume`.
struct TasksResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume suspended tasks.", discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.resume) }
}

/// `tidegate tasks cancel`.
struct TasksCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel tasks.", discussion: TaskReferenceOptions.help)

    @OptionGroup var tasks: TaskReferenceOptions

    func run() async throws { try await self.tasks.send(.cancel) }
}

/// Finds the task that a word refers to: by its key, its name, its id, or the beginning of its id.
enum TaskReference {
    // A shorter word is more likely a mistyped key than the beginning of an id.
    private static let shortestPrefix = 4
    private static let mostCandidates = 4

    /// The id of the task that `word` refers to among `tasks`, which are sorted oldest first.
    ///
    /// If several tasks have the key or name, the unfinished one is meant, or else the newest.
    /// - Throws: A usage error that names the candidates if the word is ambiguous.
    static func find(_ word: String, in tasks: [TaskDocument]) throws(CommandError) -> String {
        if let id = TaskID(word) { return id.description }
        for (kind, member) in [("key", \TaskDocument.key), ("name", \TaskDocument.name)] {
            let named = tasks.filter { $0[keyPath: member] == word }
            guard let newest = named.last else { continue }
            let unfinished = named.filter { $0.outcome == nil }
            guard unfinished.count > 1 else { return unfinished.first?.id ?? newest.id }
            throw self.ambiguous("the \(kind) \"\(word.escapingControls)\"", unfinished)
        }
        let prefix = word.lowercased()
        let found = prefix.count < self.shortestPrefix ? [] : tasks.filter { $0.id.hasPrefix(prefix) }
        guard let first = found.first else {
            throw CommandError(.no, "no such task: \"\(word.escapingControls)\"")
        }
        guard found.count == 1 else { throw self.ambiguous("\"\(word)\"", found) }
        return first.id
    }

    private static func ambiguous(_ subject: String, _ tasks: [TaskDocument]) -> CommandError {
        let shown = tasks.suffix(self.mostCandidates).map { task in
            [task.id, (task.key ?? task.name).map { "(\($0.escapingControls))" }].compactMap(\.self)
                .joined(separator: " ")
        }
        let rest = tasks.count - shown.count
        let list = shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        return CommandError(.usage, "\(subject) fits \(tasks.count) tasks: \(list)")
    }

    /// The shortest unambiguous prefixes of ids, with at least `least` characters each.
    static func shortIDs(of ids: [String], atLeast least: Int = 8) -> [String: String] {
        let sorted = ids.sorted()
        var short: [String: String] = [:]
        for (position, id) in sorted.enumerated() {
            let neighbours = [position - 1, position + 1].filter(sorted.indices.contains).map { sorted[$0] }
            let shared = neighbours.map { zip($0, id).prefix { $0 == $1 }.count }.max() ?? 0
            var count = max(least, shared + 1)
            // A final hyphen distinguishes nothing.
            if id.prefix(count).hasSuffix("-") { count += 1 }
            short[id] = String(id.prefix(count))
        }
        return short
    }
}
