internal import ArgumentParser
internal import Tidegate

/// `tidegate watch`: the network now, then every change.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the state of the network, then every change.",
        discussion: """
            Reads the kernel directly; needs no daemon and no privileges. Runs until interrupted.

            Examples:
              tidegate watch
              tidegate watch --json --target example.com:443 | jq .

            Exit status: 130 after Ctrl-C, 2 for usage errors.
            """)

    @OptionGroup var targets: TargetOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let terminal = Terminal()
        let monitor = OneShotMonitor(targets: try self.targets.targets())
        // Subscribed before the first status is taken: a change in between is shown twice, never missed.
        let changes = monitor.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            switch event.payload {
            case .path, .link, .netlink(.overrun), .netlink(.lost): true
            default: false
            }
        }
        let (first, moment) = await monitor.firstStatus()
        self.show(first, terminal)
        // Earlier events are part of the first status.
        for await event in changes where event.moment > moment {
            self.show(event, among: monitor.reachability.status.links, terminal)
        }
    }

    private func show(_ status: ReachabilityStatus, _ terminal: Terminal) {
        guard self.json else {
            for line in StatusText.lines(status, terminal.outputStyle) + [""] { terminal.print(line) }
            return
        }
        let head: [JSONValue.Member] = [.init("schema", 1), .init("event", "snapshot")]
        terminal.print(JSONValue.object(head + status.documentMembers).description)
    }

    private func show(_ event: Event, among links: [Link], _ terminal: Terminal) {
        guard self.json else {
            if let line = ChangeText.line(event, among: links, terminal.outputStyle) { terminal.print(line) }
            return
        }
        switch event.payload {
        case .path, .link: terminal.print(event.json().description)
        default: break
        }
    }
}
