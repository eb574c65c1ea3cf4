package import TidegateCore
public import TidegateMetrics

/// The addresses and limits of the endpoint.
package struct EndpointConfiguration: Sendable {
    /// The addresses to listen on; one server for each.
    package var listen: [ListenAddress] = [.standard]
    /// The path of the exposition.
    package var telemetryPath = "/metrics"
    /// The maximum number of concurrent requests; further ones get 503.
    package var maxRequests = 40
    /// The maximum number of open connections of each address; a new one replaces the one that has waited longest.
    package var maxConnections = 512
    /// The names that requests may be for, besides addresses and `localhost`.
    ///
    /// An empty list allows every name on listeners that are not on a loopback address.
    package var allowedHosts: [String] = []
    /// How long a request may take from its first byte to its last, including a preceding handshake.
    package var requestTimeout: Duration = .seconds(5)
    /// How long a connection may stay idle.
    package var idleTimeout: Duration = .seconds(30)
    /// How long a client may take to read a response.
    package var writeTimeout: Duration = .seconds(30)
    /// The maximum number of open event streams; further ones get 503.
    package var maxEventStreams = 64
    /// How many events a stream buffers for a slow reader before it drops the oldest.
    package var eventsKept = 256
    /// How many events are kept for clients that reconnect.
    package var eventHistory = 4096
    /// The longest time without a byte on an event stream.
    package var heartbeat: Duration = .seconds(15)
    /// How often a stream reports the progress of running tasks.
    package var progressInterval: Duration = .milliseconds(200)
    /// The parts of URLs that events leave out.
    package var redaction = URLRedaction()
    /// The names of the configured targets; only these have their own series.
    package var targetNames: [Target: String] = [:]
    /// Exported as metrics.
    package var deployment = Deployment()
    /// The version that the page shows.
    package var version = ""

    /// The defaults.
    package init() {}

    /// Why the exposition cannot have this path, as a clause; nil if it is absolute, plain, and not a path of another
    /// route.
    package static func problem(ofTelemetryPath path: String) -> String? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let isReserved =
            path == "/" || ["api", "-", "probe", "config", "logs", "incidents"].contains(segments.dropFirst().first)
        // `*`, `:` and braces have meanings in the router.
        let isPlain = segments.dropFirst().allSatisfy { !$0.isEmpty && !$0.contains { "?# *:{}".contains($0) } }
        guard path.hasPrefix("/"), isReserved || isPlain else { return "is not an absolute URL path" }
        return isReserved ? "is reserved" : nil
    }
}

/// Serves a monitor over HTTP from an app's own process: metrics, the status page, events and health checks.
///
/// ```swift
/// let endpoint = try MonitorEndpoint(for: monitor.endpointDependencies)
/// try await endpoint.run()
/// ```
public struct MonitorEndpoint: Sendable {
    private let endpoint: Endpoint

    /// An endpoint at these addresses, each `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; port 0 selects a free one.
    ///
    /// - Throws: An error that quotes the invalid address.
    public init(for dependencies: EndpointDependencies, listen addresses: [String] = ["127.0.0.1:9843"]) throws {
        var configuration = EndpointConfiguration()
        configuration.listen = try addresses.map { try ListenAddress($0) }
        configuration.targetNames = dependencies.targetNames
        configuration.version = dependencies.version
        self.endpoint = Endpoint(
            configuration: configuration, view: dependencies.view, bus: dependencies.bus,
            recorder: dependencies.recorder, time: dependencies.time)
    }

    /// Serves until the Swift task is cancelled; running responses are completed first.
    ///
    /// - Parameter whenListening: Called once when every address is bound, with the ports in the order of the
    /// addresses.
    public func run(whenListening: @escaping @Sendable ([Int]) -> Void = { _ in }) async throws {
        try await self.endpoint.run { addresses in whenListening(addresses.map(\.port)) }
    }
}

/// A host name or an address, with a port, to listen on.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name, or an address without brackets.
    package let host: String
    /// The port; with 0 the kernel chooses a free one.
    package let port: Int
    /// The socket that listens there already; nil opens one.
    package var descriptor: CInt?

    /// The address of `host` and `port`.
    package init(host: String, port: Int, descriptor: CInt? = nil) {
        (self.host, self.port, self.descriptor) = (host, port, descriptor)
    }
}

extension ListenAddress {
    /// The default: port 9843 of the loopback address.
    package static let standard = ListenAddress(host: "127.0.0.1", port: 9843)

    /// Parses `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which means every local address.
    ///
    /// - Throws: An error that quotes the text.
    package init(_ text: String) throws(TextError) {
        guard let colon = text.lastIndex(of: ":") else { throw TextError(notToListenOn: text) }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits)
        else { throw TextError(notToListenOn: text) }
        self.port = Int(port)
        self.host = try ListenAddress.host(of: text[..<colon], in: text)
    }

    /// `HOST:PORT` or `[IPV6]:PORT`.
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    /// True if only programs of this host can connect.
    package var isLoopback: Bool { self.host == "localhost" || IPAddress(self.host)?.isLoopback ?? false }

    /// The URL of the status page for a browser on this host.
    package func page(isEncrypted: Bool) -> String {
        // No browser connects to an unspecified address.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][self.host] ?? self.host
        return "\(isEncrypted ? "https" : "http")://\(ListenAddress(host: host, port: self.port).description)/"
    }

    private static func host(of part: Substring, in text: String) throws(TextError) -> String {
        if part.isEmpty { return "::" }
        if part.hasPrefix("["), part.hasSuffix("]") {
            let inner = String(part.dropFirst().dropLast())
            guard IPAddress(inner)?.family == .ipv6 else { throw TextError(notToListenOn: text) }
            return inner
        }
        // Without brackets, a colon could belong to the address or to the port.
        guard !part.contains(":"), (try? Target(String(part))) != nil else { throw TextError(notToListenOn: text) }
        return String(part)
    }
}

extension TextError {
    /// An error for a text that is not an address to listen on.
    init(notToListenOn text: String) {
        self.init("\"\(text)\" is not an address to listen on: HOST:PORT, [IPV6]:PORT or :PORT")
    }
}
