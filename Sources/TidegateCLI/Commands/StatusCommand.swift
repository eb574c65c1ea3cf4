internal import ArgumentParser
internal import Tidegate

/// `tidegate status`: one look at the network.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Say what the kernel would do with a packet now.",
        discussion: """
            Reads the kernel itself: needs no daemon and no privilege. Ends with 0 when the network (or, with \
            --target, every target) is at least routed, 1 when not, 3 when it is unknown.
            """)

    @OptionGroup var targets: TargetOptions
    @OptionGroup var family: FamilyOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say nothing: the exit code is the answer.")
    var quiet = false

    func validate() throws {
        if self.quiet, self.json { throw ValidationError("--quiet and --json exclude each other") }
    }

    func run() async throws {
        let terminal = Terminal()
        let status = await Look.once(at: try self.targets.targets()).only(self.family.family)
        if self.json {
            terminal.answer(status.json.description)
        } else if !self.quiet {
            for line in StatusText.lines(status, terminal.answers) { terminal.answer(line) }
        }
        if status.global.level == .unknown, let why = Look.blindness() { terminal.note("tidegate: \(why)") }
        if let ending = Ending(judging: status) { throw ending }
    }
}

extension Ending {
    /// How `status` ends: by the targets where some were named, by the network otherwise; nil when all is well.
    init?(judging status: ReachabilityStatus) {
        let levels = status.targets.isEmpty ? [status.global.level] : status.targets.map(\.verdict.level)
        if levels.contains(where: { $0 != .unknown && $0 < .routed }) {
            self.init(.no)
        } else if levels.contains(.unknown) {
            self.init(.unknown)
        } else {
            return nil
        }
    }
}
