internal import ArgumentParser
internal import Tidegate

/// `tidegate explain`: why a target can be reached or not.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show why a host or URL is reachable or not, and who is responsible.",
        discussion: """
            Checks every rung of the ladder over IPv4 and IPv6, from the interface to the HTTP response. For a \
            target that works, prints the result, the way out, and what is worth knowing; -v adds its ladder. For one that does not, \
            prints the cause, the responsible party, the advice, and the evidence of every rung. Without a target, \
            shows why this host is offline: every way out, every resolver, and the configured targets if a daemon \
            runs.

            Reads the kernel directly; needs no daemon and no privileges. If a target or a resolver is silent, it \
            sends a dozen packets with limited hops towards it and towards a public address, as traceroute does.

            Ends within 2 s, with four exceptions. Resolvers have 2.5 s if the way out works. A silent target \
            behind routers that answer gets 3.7 s, because only then does its last router report that it is gone. A \
            server that has accepted a request gets all of --timeout for the first byte of its answer. A target that \
            works and takes more than 300 ms to the first byte is measured for 3 to 4 s, with 80 echoes to each of the \
            router, the first host beyond it, the target and a public address: the answer says where the slowness begins.

            Examples:
              tidegate explain
              tidegate explain https://example.com/
              tidegate explain -v db.example.com:5432 10.0.0.7:22
              tidegate explain --brief
              tidegate explain --for 30s https://example.com/

            Exit status: 0 if every target works, 1 if one does not, 3 if nothing could be checked.
            """)

    @Argument(help: .value("host[:port]|url", "Hosts, hosts with a port, or URLs."))
    var subjects: [String] = []

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions
    @OptionGroup var authority: AuthorityOptions
    @OptionGroup var proxies: ProxyOptions

    @Flag(name: .customLong("internet"), help: "Also request the default internet check URLs.")
    var checksInternet = false

    @Option(help: .value("duration", "Maximum time for each target."))
    var timeout = "5s"

    @Option(
        name: .customLong("for"),
        help: .value("duration", "Measure the path for this long, even if the target is not slow (2 s to 10 min)."))
    var measuring: String?

    @OptionGroup var socket: SocketOptions

    @Flag(help: "Print one sentence for each target.")
    var brief = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        let others = [("--json", self.output.json), ("--quiet", self.output.quiet), ("--verbose", self.output.verbose)]
        for other in others { try OptionParsing.exclude(("--brief", self.brief), other) }
        for subject in self.subjects { _ = try TargetText.parseSubject(subject) }
        _ = try OptionParsing.positive(self.timeout, of: "--timeout")
        let time = try self.measuringTime()
        guard time.map({ $0 <= .seconds(600) }) ?? true else { throw ValidationError("--for: at most 10 minutes") }
        try OptionParsing.exclude(("--for", time != nil), ("--quiet", self.output.quiet))
        if time != nil, self.subjects.isEmpty { throw ValidationError("--for requires a target") }
    }

    private func measuringTime() throws -> Duration? {
        try self.measuring.map { try OptionParsing.positive($0, of: "--for") }
    }

    func run() async throws {
        try self.authority.check()
        let environment = Terminal.environment
        let subjects = try self.subjects.map {
            try self.proxies.apply(to: try TargetText.parseSubject($0), environment: environment)
        }
        let limit = try OptionParsing.positive(self.timeout, of: "--timeout")
        let monitor = OneShotMonitor(targets: [])
        _ = await monitor.reachability.firstStatus(within: min(limit, OneShotMonitor.resolveTimeout))
        let diagnostics = monitor.diagnostics(
            try self.internetCheck.policy(isRequired: self.checksInternet), trusting: self.authority.caFile)
        let (client, time) = (self.socket.client(timeout: DaemonKnowledge.limit), monitor.time)
        let run = ExplainRun(
            diagnostics: diagnostics, families: self.family.family.map { [$0] } ?? AddressFamily.allCases, limit: limit,
            measuring: try self.measuringTime(),
            output: self.brief
                ? .brief(isNamed: subjects.count > 1)
                : self.output.quiet ? .none : self.output.json ? .json : self.output.verbose ? .verboseText : .text,
            daemon: { await DaemonKnowledge.ask(client, time: time) })
        if let error = try await run.run(subjects.isEmpty ? [.internet] : subjects) { throw error }
    }
}
