internal import ArgumentParser
internal import Tidegate

/// `tidegate status`: the state of the network now.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show links, addresses and routes, and what is reachable.",
        discussion: """
            Reads the kernel directly; needs no daemon and no privileges.

            Examples:
              tidegate status
              tidegate status --target example.com:443 --quiet && git pull

            Exit status: 0 if the network (with --target: every target) is at least routed, 1 if it is not, 3 if the \
            level is unknown.
            """)

    @OptionGroup var targets: TargetOptions
    @OptionGroup var family: FamilyOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing; only set the exit status.")
    var quiet = false

    func validate() throws {
        if self.quiet, self.json { throw ValidationError("--quiet and --json are mutually exclusive") }
    }

    func run() async throws {
        let terminal = Terminal()
        let status = await OneShotMonitor.status(targets: try self.targets.targets()).only(self.family.family)
        if self.json {
            terminal.print(status.json.description)
        } else if !self.quiet {
            for line in StatusText.lines(status, terminal.outputStyle) { terminal.print(line) }
        }
        if status.global.level == .unknown, let error = OneShotMonitor.netlinkError() {
            terminal.printError("tidegate: \(error)")
        }
        if let error = CommandError(for: status) { throw error }
    }
}
