internal import ArgumentParser

/// `tidegate fetch`: transfers that wait for a path, resume after losing it, and report the party at fault.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Transfer URLs; wait while there is no path, and resume when it is back.",
        discussion: """
            A single URL without -o or -O is written to standard output; a terminal gets a binary body only with -o -. \
            A file appears under its name only when it is complete; it keeps the owner and the permissions of the file that \
            it replaces. A device, a pipe, an open descriptor such as /dev/fd/3, or a file that cannot be replaced is \
            written directly, and is never continued. Ctrl-C keeps what can be continued, and prints the \
            command for it.

            With --continue, a file that is as long as the server's, and not older as far as the server says, is not \
            fetched again. A part that another program left is continued with --sha256, which verifies it, and otherwise \
            fetched from its start.

            An input file is read as transfers start. Lines that are not URLs are reported with their numbers and count as \
            failed transfers.

            Examples:
              tidegate fetch -O https://example.com/image.iso
              tidegate fetch --continue -O https://example.com/image.iso
              tidegate fetch --input-file urls.txt --output-dir files --parallel 16

            Exit status: 0 if every transfer succeeded, 1 if one failed, 75 if there was no path within --wait.
            """)

    @Argument(help: .value("url", "URL to transfer."))
    var urls: [String] = []

    @Option(help: .value("file", "Also transfer the URLs in this file, one per line; - is standard input."))
    var inputFile: String?

    @OptionGroup(title: "Output")
    var destination: DestinationOptions

    @Flag(name: .customLong("continue"), help: "Resume a partial file, and keep it if the transfer fails.")
    var continues = false

    @OptionGroup(title: "Request")
    var request: RequestArguments

    @OptionGroup(title: "HTTP")
    var http: HTTPOptions

    @OptionGroup(title: "Timeouts and retries")
    var timeouts: TimeoutOptions

    @OptionGroup(title: "Network")
    var network: NetworkOptions

    @Option(help: .value("style", "Progress display: bars, one line per event, or none."))
    var progress: ProgressStyle = .auto

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    @Flag(
        name: .shortAndLong,
        help: "Print the exchange on each connection, as curl -v does: * notes, > requests, < responses.")
    var verbose = false

    @Option(help: .value("file", "Write what was sent and received to this file as HAR 1.2."))
    var har: String?

    @Flag(help: "With -v and --har: include credentials, cookies and query values.")
    var showSecrets = false

    @Option(help: .value("format", "Print an object for each finished transfer."))
    var writeOut: WriteOut?

    /// How progress is displayed.
    enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
        case auto, bar, plain, none
    }

    /// The format of the output for each finished transfer.
    enum WriteOut: String, ExpressibleByArgument, CaseIterable {
        case json
    }

    func validate() throws {
        if self.urls.isEmpty, self.inputFile == nil {
            throw ValidationError("no URL specified; give one or use --input-file")
        }
        if !self.http.form.isEmpty, let other = self.request.bodyOptions.first {
            throw ValidationError("\(other) and --form are mutually exclusive")
        }
        if self.inputFile == "-", try self.http.formFields().contains(where: \.readsStandardInput) {
            throw ValidationError("--input-file and --form cannot both read standard input")
        }
        if self.inputFile == "-", self.request.uploadFile == "-" {
            throw ValidationError("--input-file and --upload-file cannot both read standard input")
        }
        let namesByHeader = ("--remote-header-name", self.destination.remoteHeaderName)
        try OptionParsing.exclude(("--continue", self.continues), namesByHeader)
        try OptionParsing.exclude(("--validators", self.http.validators != nil), namesByHeader)
        try OptionParsing.exclude(("--quiet", self.quiet), ("--verbose", self.verbose))
        if self.showSecrets, !self.verbose, self.har == nil {
            throw ValidationError("--show-secrets requires --verbose or --har")
        }
        if let har, har.isEmpty || har.hasSuffix("/") { throw ValidationError("--har: \"\(har)\" is not a file name") }
        try OptionParsing.exclude(
            ("--quiet", self.quiet),
            ("--progress \(self.progress.rawValue)", self.progress == .bar || self.progress == .plain))
        try OptionParsing.exclude(("--continue", self.continues), ("--discard", self.destination.discard))
    }

    func run() async throws {
        DescriptorLimit.raise()
        let terminal = Terminal()
        terminal.warn(
            about: self.request.secretFiles + [self.http.secretFile].compactMap(\.self)
                + self.network.trust.keyFiles)
        // Pipes are copied before the plan names them.
        try self.network.trust.check()
        try await FetchRun(plan: try FetchPlan(self), options: self, terminal: terminal).run()
    }
}
