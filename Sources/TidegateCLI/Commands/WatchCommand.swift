internal import ArgumentParser
internal import Tidegate

/// `tidegate watch`: the network now, then every change.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print the network's state, then every change.",
        discussion: "Reads the kernel itself: needs no daemon and no privilege. Runs until it is interrupted.")

    @OptionGroup var targets: TargetOptions

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() async throws {
        let terminal = Terminal()
        let look = Look(at: try self.targets.targets())
        // Subscribed before the first status is taken: a change in between is shown twice, never missed.
        let changes = look.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            switch event.payload {
            case .path, .link, .netlink(.overrun), .netlink(.lost): true
            case .netlink, .task, .session, .daemon: false
            }
        }
        let (first, moment) = await look.firstStatus()
        self.show(first, terminal)
        // What happened before is part of the first status.
        for await event in changes where event.moment > moment {
            self.show(event, among: look.monitor.status.links, terminal)
        }
    }

    private func show(_ status: ReachabilityStatus, _ terminal: Terminal) {
        guard self.json else {
            for line in StatusText.lines(status, terminal.answers) + [""] { terminal.answer(line) }
            return
        }
        let head: [JSONValue.Member] = [.init("schema", 1), .init("event", "snapshot")]
        terminal.answer(JSONValue.object(head + status.documentMembers).description)
    }

    private func show(_ event: Event, among links: [Link], _ terminal: Terminal) {
        guard self.json else {
            if let line = ChangeText.line(event, among: links, terminal.answers) { terminal.answer(line) }
            return
        }
        switch event.payload {
        case .path(let path): terminal.answer(path.json(sequence: event.sequence, time: event.time).description)
        case .link(let link):
            if let object = link.json(sequence: event.sequence, time: event.time) {
                terminal.answer(object.description)
            }
        case .netlink, .task, .session, .daemon: break
        }
    }
}
