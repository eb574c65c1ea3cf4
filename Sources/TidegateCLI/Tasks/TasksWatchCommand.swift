internal import ArgumentParser
internal import Synchronization
internal import TidegateServer

/// `tidegate tasks watch`.
struct TasksWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print the tasks, then everything that happens to them.",
        discussion: "Runs until it is interrupted or the daemon ends.")

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (terminal, isJSON) = (Terminal(), self.control.json)
        let text = Mutex(WatchText())
        try await self.control.asking { () throws(ControlClientError) in
            try await self.control.client.watch { line in
                guard !isJSON else { return terminal.answer(line) }
                for line in text.withLock({ $0.lines(line, terminal.answers) }) { terminal.answer(line) }
            }
        }
        throw Ending(.no, "the daemon ended")
    }
}
