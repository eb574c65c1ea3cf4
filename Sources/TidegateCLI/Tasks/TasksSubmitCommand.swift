internal import HTTPTypes
internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateServer
internal import TidegateDaemon
internal import TidegateCore

/// `tidegate tasks submit`.
struct TasksSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit", abstract: "Hand requests to the daemon, which carries them out whatever happens to it.",
        discussion: """
            Prints the tasks' ids once they are durable. With --key the command may be repeated: a task that has the \
            key already is found and not made again. A request that may not be sent twice is never sent twice; where \
            a crash leaves open whether it was sent, the task ends as outcomeUnknown.
            """)

    @Argument(help: ArgumentHelp("What to request.", valueName: "url"))
    var urls: [String]

    @Option(name: .shortAndLong, help: ArgumentHelp("Write the body to this file.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("Put the files into this directory, each named after its URL.", valueName: "dir"))
    var outputDir: String?

    @OptionGroup(title: "What is asked")
    var message: MessageOptions

    @Option(help: ArgumentHelp("Your own name for the task, which makes the command repeatable.", valueName: "key"))
    var key: String?

    @Option(help: ArgumentHelp("Where the key is known: keep, replace or append.", valueName: "policy"))
    var onDuplicate: Duplicates?

    @Option(help: ArgumentHelp("Higher goes first.", valueName: "n"))
    var priority: Int?

    @Option(help: ArgumentHelp("Give up this long after the start, waits included.", valueName: "duration"))
    var maxTime: String?

    @Option(help: ArgumentHelp("Try again this often where another try can help.", valueName: "n"))
    var retry: Int?

    @Option(
        help: ArgumentHelp(
            "Wait for this: routed, online, unmetered, interface:NAME or none.", valueName: "requirement"))
    var require: [String] = []

    @Flag(help: "Accept the task without letting it go.")
    var suspended = false

    @OptionGroup var control: ControlOptions

    /// What is done where the key is known.
    enum Duplicates: String, ExpressibleByArgument, CaseIterable {
        case keep, replace, append
    }

    func validate() throws { _ = try self.submissions() }

    func run() async throws {
        for submission in try self.submissions() {
            try await self.control.asking { () throws(ControlClientError) in
                let reply = try await self.control.client.submit(submission)
                self.control.answer(reply) { made, _ in [made.id] }
                guard !reply.value.new, !self.control.json, let key = submission.key else { return }
                // The id alone would pass for a new task's, which may ask for something else.
                Terminal().note("tidegate: kept the task that has the key \"\(key.visible)\" already")
            }
        }
    }

    private func submissions() throws -> [TaskSubmission] {
        try self.check()
        let names = try OptionParsing.naming("--output-dir") { () throws(TextError) in
            self.outputDir == nil ? [] : try FileNaming.names(for: self.urls)
        }
        return try self.urls.enumerated().map { position, url in
            var submission = TaskSubmission(url: url)
            submission.output = try self.output.map(self.absolute)
            if let directory = self.outputDir {
                submission.output = try self.absolute("\(directory)/\(names[position])")
            }
            try self.say(&submission)
            submission.key = self.key
            submission.onDuplicate = self.onDuplicate?.rawValue
            submission.priority = self.priority
            submission.retries = self.retry
            submission.require = self.require.isEmpty ? nil : self.require
            submission.suspended = self.suspended ? true : nil
            submission.deadlineSeconds = try self.maxTime.map {
                try OptionParsing.positive($0, of: "--max-time").inSeconds
            }
            return submission
        }
    }

    private func check() throws {
        if self.urls.count > 1 {
            guard self.output == nil else { throw ValidationError("several URLs need --output-dir") }
            guard self.key == nil else { throw ValidationError("--key names one task: give one URL") }
        }
        if self.output != nil, self.outputDir != nil {
            throw ValidationError("-o and --output-dir exclude each other")
        }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("-o: \"\(output)\" does not name a file")
        }
        if self.outputDir == "" { throw ValidationError("--output-dir: \"\" does not name a directory") }
        // A variable that is not set would make one task of all.
        if self.key == "" { throw ValidationError("--key: \"\" does not name a task") }
        if self.onDuplicate != nil, self.key == nil { throw ValidationError("--on-duplicate needs --key") }
        if let retry, !(0...9999).contains(retry) { throw ValidationError("--retry: \(retry) is not from 0 to 9999") }
        for text in self.require {
            _ = try OptionParsing.naming("--require") { () throws(TextError) in try RequirementText.parse(text) }
        }
    }

    private func say(_ submission: inout TaskSubmission) throws {
        let (body, fields) = (self.message.body, try self.message.fields())
        // Without one the body asks for it there, too.
        submission.method = self.message.method
        submission.headers = fields.isEmpty ? nil : fields.map { "\($0.name): \($0.value)" }
        submission.sha256 = self.message.sha256
        switch body.content {
        case .none: break
        case .text(let text): submission.body = text
        case .file(let path): submission.bodyFile = try self.absolute(path)
        }
    }

    // The daemon has a working directory of its own.
    private func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let here = getcwd(nil, 0) else { throw ValidationError("the working directory is gone: \(path)") }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }
}
