internal import ArgumentParser
internal import Tidegate

/// `tidegate connections`: the TCP connections of other programs on this host.
struct ConnectionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections",
        abstract: "Show other programs' TCP connections that hang or failed, and the responsible party.",
        discussion: """
            One row for each remote, those with connections that hang first. Asks the kernel for the connections of \
            this network namespace, without touching any program; needs no privileges. With a daemon, the outcomes \
            of the last five minutes are included. Without one, outcomes are collected from the start of the \
            command, so --failed implies --watch. A daemon of a user other than root and yourself is only used with \
            --control.user.

            --owner names programs of the same user, and with CAP_SYS_PTRACE those of every user. -v includes \
            it. With -q only the exit status and errors are left.

            Silence is not detected on idle connections, nor on those that only receive. UDP and QUIC are not shown.

            Examples:
              tidegate connections
              tidegate connections --stalled --watch
              tidegate connections --remote 10.0.0.0/8 --port 5432 --owner

            Exit status: 0, also if there are no connections; 2 for usage errors; 3 if the kernel or a sandbox \
            refuses to list them. --watch ends with 130 after Ctrl-C, 143 after SIGTERM, and 1 if the daemon that it asks \
            has gone.
            """)

    /// What rows are grouped by.
    enum Grouping: String, ExpressibleByArgument, CaseIterable {
        case remote, owner, gateway
    }

    @Option(help: .value("addr|cidr", "Only remotes of this address or network."))
    var remote: String?

    @Option(help: .value("n", "Only this port: the remote's, or this host's where the peer connects."))
    var port: Int?

    @Option(help: .value("name", "Only this configured target; without a daemon, a host with an optional port."))
    var target: String?

    @Flag(help: "Only remotes with connections that hang.")
    var stalled = false

    @Flag(help: "Only remotes with connections that failed in the last five minutes.")
    var failed = false

    @Option(help: .value("what", "Group rows by remote, owner or gateway."))
    var by = Grouping.remote

    @Flag(help: "Refresh the list every second until interrupted.")
    var watch = false

    @Flag(help: "Show the users, control groups and programs that have connections.")
    var owner = false

    @OptionGroup var family: FamilyOptions
    @OptionGroup var socket: SocketOptions

    @OptionGroup var output: OutputOptions

    func validate() throws {
        _ = try self.filter()
        if self.output.json, self.by != .remote { throw ValidationError("--by and --json are mutually exclusive") }
        try OptionParsing.exclude(("--owner", self.owner), ("--by \(self.by.rawValue)", self.by != .remote))
    }

    func run() async throws {
        let terminal = Terminal()
        let source = try await ConnectionSource.find(
            self.socket.client(timeout: DaemonKnowledge.limit), target: self.target.flatMap { try? Target($0) })
        if let note = source.note, !self.output.quiet { terminal.printError("tidegate: \(note)") }
        let first = try await source.report()
        for caveat in first.caveats where !self.output.quiet {
            terminal.printError("tidegate: \(caveat)")
        }
        let isRepeated = self.watch || self.failed && !source.isDaemon
        // An observer that only receives the kernel's messages reports how connections end, but lists none.
        guard first.mode.hasLists || isRepeated && first.mode == .eventsOnly else { throw CommandError(.unknown) }
        guard isRepeated else {
            var owners = ConnectionOwners()
            return try await self.show(first, terminal, &owners)
        }
        try await self.repeatedly(source, terminal)
    }

    /// The remotes that the options select.
    func filter() throws -> ConnectionFilter {
        var filter = ConnectionFilter()
        filter.network = try self.remote.map { try OptionParsing.naming("--remote", IPPrefix(parsing: $0)) }
        if let port = self.port {
            guard let number = UInt16(exactly: port), number > 0 else {
                throw ValidationError("--port: \(port) is not a port from 1 to 65535")
            }
            filter.port = number
        }
        (filter.target, filter.family) = (self.target, self.family.family)
        (filter.isStalled, filter.isFailed) = (self.stalled, self.failed)
        return filter
    }

    private func show(
        _ report: ConnectionsReport, _ terminal: Terminal, _ owners: inout ConnectionOwners
    ) async throws {
        for line in try await self.lines(report, terminal.outputStyle, &owners) where !self.output.quiet {
            terminal.print(line)
        }
    }

    private func repeatedly(_ source: ConnectionSource, _ terminal: Terminal) async throws {
        var renderer = TerminalRenderer()
        var owners = ConnectionOwners()
        while true {
            let report = try await source.report()
            if terminal.isOutputTerminal, !self.output.json, !self.output.quiet {
                let style = TextStyle(isColored: false, width: terminal.outputStyle.width)
                let lines = try await self.lines(report, style, &owners)
                // A repainted block must fit on the screen, and its lines must not wrap.
                let shown = lines.prefix(max(3, terminal.rows - 1)).map {
                    LineWrapper.cut($0, to: terminal.outputStyle.width)
                }
                terminal.print(renderer.render(shown), terminator: "")
            } else {
                try await self.show(report, terminal, &owners)
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func lines(
        _ report: ConnectionsReport, _ style: TextStyle, _ owners: inout ConnectionOwners
    ) async throws -> [String] {
        let report = try self.filter().apply(to: report)
        if self.output.json { return [try self.document(report).json.description] }
        switch self.by {
        case .remote:
            guard self.owner || self.output.verbose else { return ConnectionText.remotes(report, style) }
            let programs = try Self.programs(of: report)
            let texts = report.remotes.map { ($0.remote, owners.text(of: $0, programs[$0.remote] ?? [])) }
            let names = Dictionary(texts) { first, _ in first }
            return ConnectionText.remotes(report, style) { names[$0.remote] ?? "-" }
        case .owner:
            return ConnectionText.groups(report, head: "OWNER", style) { remote in
                remote.owners.isEmpty ? ["not known"] : remote.owners.map { owners.text(of: $0) }
            }
        case .gateway:
            let gateways = await self.gateways(of: report)
            return ConnectionText.groups(report, head: "GATEWAY", style) {
                [gateways[$0.remote.address] ?? "not known"]
            }
        }
    }

    private func document(_ report: ConnectionsReport) throws(CommandError) -> ConnectionsDocument {
        guard self.owner else { return ConnectionsDocument(report) }
        return ConnectionsDocument(report, programs: try Self.programs(of: report))
    }

    private static func programs(of report: ConnectionsReport) throws(CommandError) -> [Remote: [SocketProgram]] {
        let programs = try Result { try ConnectionPrograms() }
            .mapError { CommandError(.unknown, "connections cannot be listed: \($0)") }.get()
        return Dictionary(report.remotes.map { ($0.remote, programs.programs(of: $0.remote)) }) { first, _ in first }
    }

    // The gateway that the kernel would use for each remote now.
    private func gateways(of report: ConnectionsReport) async -> [IPAddress: String] {
        let monitor = OneShotMonitor(targets: [])
        _ = await monitor.reachability.firstStatus(within: .seconds(2))
        var gateways: [IPAddress: String] = [:]
        for address in Set(report.remotes.map(\.remote.address)) {
            let route = await monitor.reachability.route(to: address)
            guard let path = route.verdict.path else { continue }
            gateways[address] = path.gateway.map { "\($0) dev \(path.interface)" } ?? "on link \(path.interface)"
        }
        return gateways
    }
}
