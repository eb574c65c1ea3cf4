internal import Logging
internal import ServiceLifecycle
internal import TidegateServer

/// Serves the control socket; the daemon exits if it cannot listen.
struct ControlService: Service {
    // A command may be waiting for a disk, and a client of the event stream may have stopped reading.
    private static let gracePeriod = Duration.seconds(2)

    let server: ControlServer
    let path: String
    let logger: Logger

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.server.run {
                    self.logger.info("control socket listening", metadata: ["socket": "\(self.path)"])
                }
            }
            group.addTask {
                try? await gracefulShutdown()
                try? await Task.sleep(for: ControlService.gracePeriod, clock: .continuous)
            }
            // The server has ended, or the grace period is over.
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}
