internal import ArgumentParser
internal import TidegateDaemon

/// `tidegate tasks`: the daemon's tasks, over its control socket.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "List, submit and control the tasks of a running daemon.",
        discussion: """
            Connects to the control socket of `tidegate serve`. A submitted task survives a crash of the daemon and a \
            reboot.

            A task is named by its key, its name, its id, or the beginning of its id (at least four characters) if \
            that is unambiguous. A key or name with several tasks means the one that is not over, or else the newest.

            Examples:
              tidegate tasks submit https://example.com/big.iso -o /srv/big.iso --key iso
              tidegate tasks wait iso
              tidegate tasks list --state failed

            The control socket is open to root, the daemon's user and the members of the socket's group. A user's \
            commands go to the daemon of that user; for root's daemon: --control.socket \
            \(DefaultPaths(user: 0, environment: { _ in nil }).socket). Another user's daemon is sent nothing without \
            --control.user.

            Exit status: 0 on success, 1 if no daemon answers or there is no such task, 2 for usage errors, such as a \
            word that fits several tasks; "tasks wait" has its own.
            """,
        subcommands: [
            TasksListCommand.self, TasksShowCommand.self, TasksGetCommand.self, TasksSubmitCommand.self,
            TasksSuspendCommand.self,
            TasksResumeCommand.self, TasksCancelCommand.self, TasksWaitCommand.self, TasksWatchCommand.self,
        ])
}
