internal import TidegateServer

extension Configuration {
    /// Sets what the configuration file says about the endpoint.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        if let history = self.events.history { endpoint.eventHistory = history }
    }
}
