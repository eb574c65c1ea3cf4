internal import ArgumentParser
internal import Synchronization
internal import TidegateServer

/// `tidegate tasks watch`.
struct TasksWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the tasks, then their events.",
        discussion: "Runs until interrupted or until the daemon exits.")

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (terminal, isJSON) = (Terminal(), self.control.json)
        let text = Mutex(WatchText())
        try await self.control.connecting(
            try await self.control.client.watch { line in
                guard !isJSON else { return terminal.print(line) }
                for line in text.withLock({ $0.lines(line, terminal.outputStyle) }) { terminal.print(line) }
            })
        throw CommandError(.no, "the daemon closed the connection")
    }
}
