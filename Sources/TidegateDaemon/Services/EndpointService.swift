internal import Logging
internal import ServiceLifecycle
internal import TidegateProbes
internal import TidegateServer

/// Serves the HTTP endpoint; the daemon exits if it cannot listen.
struct EndpointService: Service {
    let endpoint: Endpoint
    let probes: ProbeRunner
    /// Nil if there is no web configuration file.
    let web: WebService?
    let logger: Logger

    func run() async throws {
        try await self.endpoint.run { addresses in
            self.probes.listens(on: Set(addresses.map { UInt16(clamping: $0.port) }))
            for address in addresses { self.logger.info("listening", metadata: ["address": "\(address)"]) }
            guard let page = addresses.first?.page(isEncrypted: self.web?.isEncrypted ?? false) else { return }
            self.logger.info("open \(page)")
        }
    }
}
