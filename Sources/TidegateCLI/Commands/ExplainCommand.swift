internal import ArgumentParser
internal import Tidegate

/// `tidegate explain`: why a target can be reached or not.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show why a host or URL is reachable or not, and which party is at fault.",
        discussion: """
            Checks every rung of the ladder for IPv4 and IPv6, from the interface to the HTTP response, and prints \
            the evidence for each. Reads the kernel directly; needs no daemon and no privileges.

            Exit status: 0 if the target was reached, 1 if a rung failed, 3 if nothing could be checked.
            """)

    @Argument(help: ArgumentHelp("A host, a host with a port, or a URL.", valueName: "host[:port]|url"))
    var subject: String

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions
    @OptionGroup var authority: AuthorityOptions

    @Option(help: ArgumentHelp("Maximum time for all checks.", valueName: "duration"))
    var timeout = "20s"

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing; only set the exit status.")
    var quiet = false

    func validate() throws {
        if self.quiet, self.json { throw ValidationError("--quiet and --json are mutually exclusive") }
        _ = try TargetText.parseSubject(self.subject)
        _ = try OptionParsing.positive(self.timeout, of: "--timeout")
    }

    func run() async throws {
        try self.authority.check()
        let subject = try TargetText.parseSubject(self.subject)
        let limit = try OptionParsing.positive(self.timeout, of: "--timeout")
        let monitor = OneShotMonitor(targets: [])
        _ = await monitor.reachability.firstStatus(within: min(limit, OneShotMonitor.resolveTimeout))
        let families = self.family.family.map { [$0] } ?? AddressFamily.allCases
        let diagnostics = monitor.diagnostics(
            try self.internetCheck.policy(isRequired: false), trusting: self.authority.cacert)
        let explanation = await diagnostics.diagnose(subject, families: families, within: limit)
        let terminal = Terminal()
        if self.json {
            terminal.print(explanation.json.description)
        } else if !self.quiet {
            for line in ExplanationText.lines(explanation, terminal.outputStyle) { terminal.print(line) }
        }
        if let error = CommandError(for: explanation) { throw error }
    }
}
