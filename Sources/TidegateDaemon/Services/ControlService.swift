internal import Logging
internal import ServiceLifecycle
internal import TidegateEndpoint

/// Answers on the control socket; a socket that cannot be had ends the daemon.
struct ControlService: Service {
    let server: ControlServer
    let path: String
    let logger: Logger

    func run() async throws {
        try await self.server.run {
            self.logger.info("listening for commands", metadata: ["socket": "\(self.path)"])
        }
    }
}
