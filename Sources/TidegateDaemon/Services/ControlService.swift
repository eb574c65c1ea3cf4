internal import Logging
internal import ServiceLifecycle
internal import TidegateServer

/// Answers commands; a socket that cannot be had ends the daemon.
struct ControlService: Service {
    // A command may wait for a disk, and a watcher may have stopped reading.
    private static let patience = Duration.seconds(2)

    let server: ControlServer
    let path: String
    let logger: Logger

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.server.run {
                    self.logger.info("listening for commands", metadata: ["socket": "\(self.path)"])
                }
            }
            group.addTask {
                try? await gracefulShutdown()
                try? await Task.sleep(for: ControlService.patience, clock: .continuous)
            }
            // Whichever is first: the server has ended, or it is not waited for any longer.
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}
