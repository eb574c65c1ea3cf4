internal import TidegateEndpoint

/// What the command line tells the daemon.
package struct DaemonSettings: Sendable {
    /// The configuration file; nil runs with the built-in defaults.
    package var configurationFile: String?
    /// The least important log lines that are written.
    package var logLevel: LogLevel = .info
    /// How log lines are written.
    package var logFormat: LogFormat = .logfmt
    /// The version that the page and the User-Agent header show.
    package var version = ""
    var endpoint = EndpointConfiguration()

    package init() {}

    /// Listens at these addresses instead of the default, which none keeps; the error quotes a bad one.
    package mutating func listen(at addresses: [String]) throws(TextError) {
        guard !addresses.isEmpty else { return }
        do throws(EndpointError) {
            self.endpoint.listen = try addresses.map { address throws(EndpointError) in try ListenAddress(address) }
        } catch {
            throw TextError(error.description)
        }
    }

    /// Exposes metrics at this path instead of `/metrics`.
    package mutating func expose(at path: String) throws(TextError) {
        let taken = path == "/" || path.hasPrefix("/api/") || path.hasPrefix("/-/")
        guard path.hasPrefix("/"), !taken, !path.contains(where: { "?# ".contains($0) }) else {
            throw TextError("\"\(path)\" is not a free path that begins with /")
        }
        self.endpoint.telemetryPath = path
    }

    /// Answers at most so many requests at a time.
    package mutating func allow(requests: Int) throws(TextError) {
        guard (1...10_000).contains(requests) else { throw TextError("\(requests) is not from 1 to 10000") }
        self.endpoint.maxRequests = requests
    }
}
