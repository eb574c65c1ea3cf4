internal import Glibc
package import TidegateCore
package import TidegateProbes
internal import TidegateServer

/// The daemon's settings from the command line.
package struct DaemonSettings: Sendable {
    /// The configuration file; nil uses the defaults.
    package var configurationFile: String?
    /// The web configuration file; nil serves plain HTTP without authentication.
    package var webConfigurationFile: String?
    /// The minimum level of log messages.
    package var logLevel: LogLevel = .info
    /// The format of log messages.
    package var logFormat: LogFormat = .logfmt
    /// The version on the status page and in the User-Agent header.
    package var version = ""
    /// The control socket's path.
    package var controlSocket: String
    /// The directory of the journal.
    package var stateDirectory: String
    /// True if the state directory was set explicitly: then the daemon does not start without it.
    var isStateDirectoryExplicit = false
    var endpoint = EndpointConfiguration()
    /// Where the service manager that started the process receives notices; nil if none did.
    var notifySocket = NotifySocket { name in getenv(name).map { String(cString: $0) } }
    /// The control socket that the service manager opened; nil opens one.
    private(set) var controlDescriptor: CInt?
    /// How probes run; the modules come from the configuration file.
    package var probes = ProbeRunner.Configuration()

    /// The configuration files as they are now, without secrets, by the names that they have in a bug report.
    var configurationTexts: [String: String] {
        ["tidegate.yml": self.configurationFile, "web.yml": self.webConfigurationFile].compactMapValues { file in
            guard let file else { return nil }
            do throws(ConfigurationError) {
                return "# \(file)\n\(try Configuration.redactedText(of: file))"
            } catch {
                return "# \(error)\n"
            }
        }
    }

    /// Settings with the default paths.
    package init(paths: DefaultPaths) {
        self.controlSocket = paths.socket
        self.stateDirectory = paths.state
    }

    /// Sets the directory of the journal.
    package mutating func setStateDirectory(_ directory: String) throws(TextError) {
        guard directory.hasPrefix("/") else { throw TextError("\"\(directory)\" is not an absolute path") }
        self.stateDirectory = directory
        self.isStateDirectoryExplicit = true
    }

    /// Sets the number of probes to remember.
    package mutating func setHistoryLimit(_ limit: Int) throws(TextError) {
        guard (0...10_000).contains(limit) else { throw TextError("\(limit) is out of range (0 to 10000)") }
        self.probes.historyLimit = limit
    }

    /// Uses the sockets that the service manager opened instead of those that were set.
    mutating func use(_ inherited: InheritedSockets) {
        if !inherited.addresses.isEmpty { self.endpoint.listen = inherited.addresses }
        if let control = inherited.control {
            (self.controlSocket, self.controlDescriptor) = (control.path, control.descriptor)
        }
    }

    /// Sets the path of the control socket.
    package mutating func setControlSocket(_ path: String) throws(TextError) {
        guard path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw TextError("\"\(path)\" is not an absolute path of a socket")
        }
        self.controlSocket = path
    }

    /// Sets the addresses to listen on; an empty list keeps the default.
    package mutating func setListenAddresses(_ addresses: [String]) throws(TextError) {
        guard !addresses.isEmpty else { return }
        self.endpoint.listen = try addresses.map { address throws(TextError) in try ListenAddress(address) }
    }

    /// Sets the host names that requests may name.
    package mutating func setAllowedHosts(_ hosts: [String]) throws(TextError) {
        for host in hosts where host.contains(":") || (try? Target(host)) == nil {
            throw TextError("\"\(host)\" is not a host name without a port")
        }
        self.endpoint.allowedHosts = hosts
    }

    /// Sets the path of the exposition.
    package mutating func setTelemetryPath(_ path: String) throws(TextError) {
        if let problem = EndpointConfiguration.problem(ofTelemetryPath: path) {
            throw TextError("\"\(path)\" \(problem)")
        }
        self.endpoint.telemetryPath = path
    }

    /// Sets the maximum number of concurrent HTTP requests.
    package mutating func setMaxRequests(_ count: Int) throws(TextError) {
        guard (1...10_000).contains(count) else { throw TextError("\(count) is out of range (1 to 10000)") }
        self.endpoint.maxRequests = count
    }
}

/// Why the daemon cannot run.
package enum DaemonError: Error, Sendable, CustomStringConvertible {
    /// The configuration is invalid.
    case configuration(ConfigurationError)
    /// A port, the control socket, the state directory or a thread is not available; the message names it.
    case resource(String)

    package var description: String {
        switch self {
        case .configuration(let error): error.description
        case .resource(let message): message
        }
    }
}

/// Compares the limit of open files (RLIMIT_NOFILE, getrlimit(2)) with the needs of the configuration.
struct DescriptorCheck {
    let limit: Int
    let needed: Int

    static let advice = "raise LimitNOFILE= in the unit, or ulimit -n"

    // The journal, the log, netlink, the resolvers and the descriptors of each thread.
    private static let base = 64

    /// Estimates the need from the numbers of server and client connections.
    init(limit: Int, listeners: Int, connectionsEach: Int, transfers: Int) {
        self.limit = limit
        self.needed = Self.base + listeners * connectionsEach + transfers
    }

    /// A sentence without a full stop; nil if there are enough.
    var warning: String? {
        guard self.limit < self.needed else { return nil }
        return "only \(self.limit) files and sockets may be open, and up to \(self.needed) can be needed: tasks and "
            + "connections will wait; \(Self.advice)"
    }
}
