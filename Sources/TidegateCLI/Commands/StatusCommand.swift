internal import ArgumentParser
internal import Tidegate
internal import TidegateServer

/// `tidegate status`: the current state of the network.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show links, addresses and routes, and what is reachable.",
        discussion: """
            Reads the kernel directly; needs no daemon and no privileges. A daemon of the same user or of root adds what \
            is slow, and how it observes the connections of other programs. -v adds routing tables, indexes and operational states.

            Examples:
              tidegate status
              tidegate status --target example.com:443 --quiet && git pull

            Exit status: 0 if the network (with --target: every target) is at least routed, 1 if it is not, 3 if the \
            level is unknown.
            """)

    @OptionGroup var targets: TargetOptions
    @OptionGroup var family: FamilyOptions
    @OptionGroup var socket: SocketOptions

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let terminal = Terminal()
        let client = self.socket.client(timeout: DaemonKnowledge.limit)
        async let daemon = self.output.quiet ? nil : DaemonKnowledge.ask(client, time: SystemClock()).report
        let status = await OneShotMonitor.status(targets: try self.targets.targets()).only(self.family.family)
        if self.output.json {
            var json = status.json.adding(.init("quality", await daemon?.quality ?? .null))
            if let uplinks = await daemon?.uplinks, !uplinks.isEmpty {
                json = json.adding(.init("uplinks", .array(uplinks)))
            }
            terminal.print(json.adding(.init("observation", await daemon?.observation?.json ?? .null)).description)
        } else if !self.output.quiet {
            let text = StatusText(isVerbose: self.output.verbose)
            for line in text.lines(status, terminal.outputStyle, await daemon) { terminal.print(line) }
        }
        if status.global.level == .unknown, let error = OneShotMonitor.netlinkError() {
            terminal.printError("tidegate: \(error)")
        }
        if let error = CommandError(for: status) { throw error }
    }
}

/// `tidegate watch`: the current state of the network, then every change.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the state of the network, then every change.",
        discussion: """
            Reads the kernel directly; needs no daemon and no privileges. Runs until interrupted. -q leaves the first \
            state out; -v shows every event.

            Examples:
              tidegate watch
              tidegate watch --json --target example.com:443 | jq .

            Exit status: 130 after Ctrl-C, 2 for usage errors.
            """)

    @OptionGroup var targets: TargetOptions

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let terminal = Terminal()
        let monitor = OneShotMonitor(targets: try self.targets.targets())
        // Subscribed before the first status is read: a change in between is shown twice, but never missed.
        let showsAll = self.output.verbose
        let changes = monitor.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            switch event.payload {
            case .path, .link, .netlink(.overrun), .netlink(.lost): true
            default: showsAll
            }
        }
        let (first, moment) = await monitor.firstStatus()
        if !self.output.quiet { self.show(first, terminal) }
        // Earlier events are part of the first status.
        for await event in changes where event.moment > moment {
            self.show(event, among: monitor.reachability.status.links, terminal)
        }
    }

    private func show(_ status: ReachabilityStatus, _ terminal: Terminal) {
        guard self.output.json else {
            for line in StatusText(isVerbose: self.output.verbose).lines(status, terminal.outputStyle) + [""] {
                terminal.print(line)
            }
            return
        }
        let head: [JSONValue.Member] = [.init("schema", 1), .init("event", "snapshot")]
        terminal.print(JSONValue.object(head + status.documentMembers).description)
    }

    private func show(_ event: Event, among links: [Link], _ terminal: Terminal) {
        guard self.output.json else {
            let (style, isVerbose) = (terminal.outputStyle, self.output.verbose)
            if let line = ChangeText.line(event, among: links, style, isVerbose: isVerbose) { terminal.print(line) }
            return
        }
        switch event.payload {
        case .path, .link: terminal.print(event.json().description)
        default: break
        }
    }
}
