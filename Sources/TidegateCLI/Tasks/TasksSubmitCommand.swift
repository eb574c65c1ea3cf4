internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// `tidegate tasks submit`.
struct TasksSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit", abstract: "Submit requests to the daemon as durable tasks.",
        discussion: """
            Prints the task ids (-q: and nothing else but errors) once the tasks are in the journal; they survive a crash of the daemon. With --key the \
            command is idempotent: a task that already has the key is kept, and standard error says whether it still \
            runs or how it ended. A request that is not idempotent is sent at most once; if a crash leaves open \
            whether it was sent, the task fails, and "tasks wait" ends with 3.

            Without -o or --output-dir the body is kept by the daemon for "tasks show --body": its first 64 KiB, of \
            the last 256 tasks, in memory until the daemon is restarted.

            Examples:
              tidegate tasks submit https://example.com/big.iso -o /srv/big.iso --key iso
              tidegate tasks submit https://api.example.com/orders --json-body '{"id": 7}' --key order-7

            Exit status: 0 if the tasks are accepted or their key is known, 1 if no daemon answers or it cannot \
            accept a task, 2 for usage errors.
            """)

    @Argument(help: .value("url", "URL to request."))
    var urls: [String]

    @Option(name: .shortAndLong, help: .value("file", "Write the body to this file."))
    var output: String?

    @Option(help: .value("dir", "Write files to this directory, each named after its URL."))
    var outputDir: String?

    @OptionGroup(title: "Request")
    var request: RequestArguments

    @Option(
        name: [.customShort("F"), .long],
        help: .value(
            "part", "POST a form with this part: NAME=VALUE, NAME=@FILE or NAME=<FILE (repeatable); files are read now."
        )
    )
    var form: [String] = []

    @Option(help: .value("key", "Idempotency key of the task."))
    var key: String?

    @Option(help: .value("policy", "If a task has the key already: keep, replace or append."))
    var onDuplicate: Duplicates?

    @Option(help: .value("n", "Priority; higher runs first (default: 0)."))
    var priority: Int?

    @Option(help: .value("duration", "Maximum time for the task, including all waits."))
    var maxTime: String?

    @Option(help: .value("n", "Maximum number of retries in a row without a new part of the body."))
    var retry: Int?

    @Option(
        help: .value(
            "requirement", "Requirement to wait for: routed, online, unmetered, interface:NAME or none (repeatable)."))
    var require: [String] = []

    @Flag(help: "Keep the file of -o if the server says that it is still current (ETag, Last-Modified).")
    var conditional = false

    @Flag(help: "Send and keep cookies, which all tasks with this flag share.")
    var cookies = false

    @Option(help: .value("url", "Proxy to use, as SCHEME://[USER:PASSWORD@]HOST:PORT, instead of the daemon's."))
    var proxy: String?

    @Option(help: .value("file", "CA certificates (PEM) to verify servers against, read by the daemon."))
    var cacert: String?

    @Option(
        name: .customLong("pin"),
        help: .value(
            "pin", "Key (sha256//BASE64) or SHA-256 fingerprint that a certificate of the chain must have (repeatable)."
        ))
    var pins: [String] = []

    @Flag(help: "Submit the task suspended.")
    var suspended = false

    @OptionGroup var control: ControlOptions

    /// What to do if a task already has the key.
    enum Duplicates: String, ExpressibleByArgument, CaseIterable {
        case keep, replace, append
    }

    func validate() throws { _ = try self.submissions() }

    func run() async throws {
        Terminal().warn(about: self.request.secretFiles)
        var newWithoutFile: [String] = []
        for submission in try self.submissions() {
            let reply = try await self.control.connecting(try await self.control.client.submit(submission))
            if self.control.output.json { Terminal().print(reply.text) } else { Terminal().print(reply.value.id) }
            if reply.value.new {
                if submission.output == nil { newWithoutFile.append(reply.value.id) }
            } else if self.showsNotes, let key = submission.key {
                await self.describe(reply.value.id, key: key)
            }
        }
        guard self.showsNotes, let last = newWithoutFile.last else { return }
        Terminal().printError(
            "without -o the first 64 KiB of the body are kept: tidegate tasks show \(self.key ?? last) --body")
    }

    private var showsNotes: Bool { !self.control.output.json && !self.control.output.quiet }

    // The id alone would look like that of a new task, whose request may differ.
    private func describe(_ id: String, key: String) async {
        let task = try? await self.control.client.task(id).value
        Terminal().printError("tidegate: \(TaskText.nothingSubmitted(task, key: key, at: SystemClock().wall()))")
    }

    private func submissions() throws -> [TaskSubmission] {
        try self.check()
        let names =
            self.outputDir == nil ? [] : try OptionParsing.naming("--output-dir", FileNaming.names(for: self.urls))
        let form = try self.multipartForm()
        return try self.urls.enumerated().map { position, url in
            var submission = try self.request.submission(for: url)
            if let form { try OptionParsing.naming("--form", submission.send(form)) }
            submission.bodyFile = try submission.bodyFile.map(self.absolute)
            submission.output = try self.output.map(self.absolute)
            if let directory = self.outputDir {
                submission.output = try self.absolute("\(directory)/\(names[position])")
            }
            submission.conditional = self.conditional ? true : nil
            submission.cookies = self.cookies ? true : nil
            (submission.proxy, submission.caFile) = (self.proxy, try self.cacert.map(self.absolute))
            submission.pins = self.pins.isEmpty ? nil : self.pins
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

    // Its files are read by this process, with the rights of its user.
    private func multipartForm() throws -> MultipartForm? {
        guard !self.form.isEmpty else { return nil }
        if let body = self.request.bodyOptions.first {
            throw ValidationError("--form and \(body) are mutually exclusive")
        }
        let fields = try self.form.map { try OptionParsing.naming("--form", FormField(parsing: $0)) }
        if fields.contains(where: \.readsStandardInput) { throw ValidationError("--form: a task cannot read -") }
        return try OptionParsing.naming("--form", MultipartForm(fields))
    }

    private func check() throws {
        if self.urls.count > 1 {
            guard self.output == nil else { throw ValidationError("several URLs require --output-dir") }
            guard self.key == nil else { throw ValidationError("--key requires a single URL") }
        }
        try OptionParsing.exclude(("-o", self.output != nil), ("--output-dir", self.outputDir != nil))
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("-o: \"\(output)\" is not a file name")
        }
        if self.outputDir == "" { throw ValidationError("--output-dir: directory name is empty") }
        // With an unset variable as the key, every submission would be the same task.
        if self.key == "" { throw ValidationError("--key: key is empty") }
        if self.onDuplicate != nil, self.key == nil { throw ValidationError("--on-duplicate requires --key") }
        if self.conditional, self.output == nil, self.outputDir == nil {
            throw ValidationError("--conditional requires -o or --output-dir")
        }
        _ = try self.proxy.map { try OptionParsing.naming("--proxy", Proxy($0)) }
        for pin in self.pins { _ = try OptionParsing.naming("--pin", CertificatePin(pin)) }
        if let retry { try OptionParsing.checkRetries(retry) }
        _ = try OptionParsing.requirements(self.require)
    }

    // The daemon has a different working directory.
    private func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let here = getcwd(nil, 0) else {
            throw ValidationError("\(path): cannot get the current directory")
        }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }
}
