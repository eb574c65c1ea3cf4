internal import ArgumentParser
internal import Tidegate

/// `tidegate explain`: why a target answers or does not.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say why a host or URL can be reached or not, and whose fault it is.",
        discussion: """
            Climbs from the interface to the answer, for IPv4 and IPv6, and shows what it saw on every rung. Reads the \
            kernel itself: needs no daemon and no privilege. Ends with 0 when the target was reached, 1 when a rung \
            is bad, 3 when nothing could be told.
            """)

    @Argument(help: ArgumentHelp("A host, a host with a port, or a URL.", valueName: "host[:port]|url"))
    var subject: String

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions
    @OptionGroup var authority: AuthorityOptions

    @Option(help: ArgumentHelp("Take at most this time.", valueName: "duration"))
    var timeout = "20s"

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say nothing: the exit code is the answer.")
    var quiet = false

    func validate() throws {
        if self.quiet, self.json { throw ValidationError("--quiet and --json exclude each other") }
        _ = try ExplainSubject(self.subject)
        _ = try OptionParsing.positive(self.timeout, of: "--timeout")
    }

    func run() async throws {
        try self.authority.check()
        let subject = try ExplainSubject(self.subject)
        let limit = try OptionParsing.positive(self.timeout, of: "--timeout")
        let look = Look(at: [])
        _ = await look.monitor.firstStatus(within: min(limit, Look.patience))
        let families = self.family.family.map { [$0] } ?? AddressFamily.allCases
        let climber = look.climber(
            try self.internetCheck.policy(isAskedFor: false), trusting: self.authority.cacert)
        let explanation = await climber.diagnose(try subject.explainTarget(), families: families, within: limit)
        let terminal = Terminal()
        if self.json {
            terminal.answer(explanation.json.description)
        } else if !self.quiet {
            for line in ExplanationText.lines(explanation, terminal.answers) { terminal.answer(line) }
        }
        if let ending = Ending(judging: explanation) { throw ending }
    }
}

extension Ending {
    /// How `explain` ends; nil where the target was reached.
    init?(judging explanation: Explanation) {
        if let failure = explanation.firstFailure {
            // A monitor that sees nothing says nothing about the network.
            self.init(failure.rung == .monitor ? .unknown : .no)
        } else if explanation.party == nil {
            return nil
        } else {
            self.init(.unknown)
        }
    }
}
