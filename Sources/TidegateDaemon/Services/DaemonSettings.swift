internal import TidegateServer

/// What the command line tells the daemon.
package struct DaemonSettings: Sendable {
    /// The configuration file; nil runs with the built-in defaults.
    package var configurationFile: String?
    /// The web configuration file; nil answers everybody, in the clear.
    package var webConfigurationFile: String?
    /// The least important log lines that are written.
    package var logLevel: LogLevel = .info
    /// How log lines are written.
    package var logFormat: LogFormat = .logfmt
    /// The version that the page and the User-Agent header show.
    package var version = ""
    /// The control socket's path.
    package var controlSocket: String
    /// The directory of the journal.
    package var stateDirectory: String
    /// True where somebody has named it: then it has to be usable.
    var isStateNamed = false
    var endpoint = EndpointConfiguration()

    /// Settings with the usual places.
    package init(places: DefaultPaths) {
        self.controlSocket = places.socket
        self.stateDirectory = places.state
    }

    /// Keeps the journal in this directory.
    package mutating func keepState(in directory: String) throws(TextError) {
        guard directory.hasPrefix("/") else { throw TextError("\"\(directory)\" is not an absolute path") }
        self.stateDirectory = directory
        self.isStateNamed = true
    }

    /// Answers commands at this socket.
    package mutating func control(at path: String) throws(TextError) {
        guard path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw TextError("\"\(path)\" is not an absolute path of a socket")
        }
        self.controlSocket = path
    }

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
        guard EndpointConfiguration.isValid(telemetryPath: path) else {
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
