internal import ArgumentParser

/// `tidegate tasks`: the daemon's tasks, over its control socket.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "List, submit and steer the tasks of a running daemon.",
        discussion: """
            Speaks to `tidegate serve` over its control socket. A submitted task survives the daemon's end, however \
            that comes. Ends with 1 where no daemon answers or a task is unknown.
            """,
        subcommands: [
            TasksListCommand.self, TasksShowCommand.self, TasksSubmitCommand.self, TasksSuspendCommand.self,
            TasksResumeCommand.self, TasksCancelCommand.self, TasksWatchCommand.self,
        ])
}
