internal import TidegateServer

extension Configuration {
    /// What the endpoint is told besides what the command line says.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        if let history = self.events.history { endpoint.eventHistory = history }
    }
}
