internal import ArgumentParser

/// `tidegate tasks`: the daemon's tasks, over its control socket.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "List, submit and control the tasks of a running daemon.",
        discussion: """
            Connects to the control socket of `tidegate serve`. A submitted task survives a crash of the daemon and a \
            reboot.

            Exit status: 0 on success, 1 if no daemon answers or there is no such task, 2 for usage errors.
            """,
        subcommands: [
            TasksListCommand.self, TasksShowCommand.self, TasksSubmitCommand.self, TasksSuspendCommand.self,
            TasksResumeCommand.self, TasksCancelCommand.self, TasksWatchCommand.self,
        ])
}
