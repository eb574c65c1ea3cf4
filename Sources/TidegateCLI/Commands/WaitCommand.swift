internal import ArgumentParser
internal import Tidegate

/// `tidegate wait`: until something holds; then, perhaps, a command.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until the network is as it should be.",
        discussion: """
            \(ConditionText.help) With -- COMMAND, the command takes this one's place once they hold. Ends with 1 \
            when they did not hold in time; the last line on the standard error says what is missing.
            """)

    @OptionGroup var options: WaitOptions

    func run() async throws {
        let terminal = Terminal()
        let values = try self.options.values()
        let look = Look(at: values.targets)
        let asker = ConditionAsker(look, values)
        let wait = WaitRun(values, look: look, asker: asker.ask) { if !values.isQuiet { terminal.note($0) } }
        switch await wait.run() {
        case .holds:
            guard !self.options.command.isEmpty else { return }
            throw CommandStart.replaceProcess(self.options.command)
        case .timedOut(let missing):
            throw Ending(.no, missing)
        }
    }
}
