internal import Logging
internal import ServiceLifecycle
internal import TidegateServer

/// Serves the HTTP endpoint; the daemon exits if it cannot listen.
struct EndpointService: Service {
    let endpoint: Endpoint
    let logger: Logger

    func run() async throws {
        try await self.endpoint.run { addresses in
            for address in addresses { self.logger.info("listening", metadata: ["address": "\(address)"]) }
        }
    }
}
