internal import TidegateCore
public import TidegateMetrics

/// Serves a monitor over HTTP from an app's own process: metrics, the status page, events and health checks.
///
/// ```swift
/// let endpoint = try MonitorEndpoint(for: monitor.endpointDependencies)
/// try await endpoint.run()
/// ```
public struct MonitorEndpoint: Sendable {
    private let endpoint: Endpoint

    /// An endpoint at these addresses, each `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; port 0 takes a free one.
    ///
    /// - Throws: An error that quotes the address that is not one.
    public init(for dependencies: EndpointDependencies, listen addresses: [String] = ["127.0.0.1:9843"]) throws {
        var configuration = EndpointConfiguration()
        configuration.listen = try addresses.map { try ListenAddress($0) }
        configuration.targetNames = dependencies.targetNames
        configuration.version = dependencies.version
        self.endpoint = Endpoint(
            configuration: configuration, view: dependencies.view, bus: dependencies.bus,
            recorder: dependencies.recorder, time: dependencies.time)
    }

    /// Serves until the Swift task is cancelled; responses under way are finished first.
    ///
    /// - Parameter whenListening: Called once, when every address is bound, with the ports in the order of the addresses.
    public func run(whenListening: @escaping @Sendable ([Int]) -> Void = { _ in }) async throws {
        try await self.endpoint.run { addresses in whenListening(addresses.map(\.port)) }
    }
}
