internal import Logging
internal import ServiceLifecycle
internal import TidegateServer

/// Serves the HTTP endpoint; the daemon exits if it cannot listen.
struct EndpointService: Service {
    let endpoint: Endpoint
    /// True if the endpoint speaks TLS.
    let isEncrypted: Bool
    let logger: Logger

    func run() async throws {
        try await self.endpoint.run { addresses in
            for address in addresses { self.logger.info("listening", metadata: ["address": "\(address)"]) }
            guard let page = addresses.first?.page(isEncrypted: self.isEncrypted) else { return }
            self.logger.info("open \(page)")
        }
    }
}
