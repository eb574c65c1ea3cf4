package import TidegateCore

/// Where and how the endpoint answers.
package struct EndpointConfiguration: Sendable {
    /// Where it listens; one server for each.
    package var listen: [ListenAddress] = [.standard]
    /// The path of the exposition.
    package var telemetryPath = "/metrics"
    /// How many requests are answered at a time; more are refused with 503.
    package var maxRequests = 40
    /// How many connections are open at a time at each address; more wait in the kernel's queue.
    package var maxConnections = 512
    /// How long a connection may take for a request, or stay without one.
    package var idleTimeout: Duration = .seconds(30)
    /// How long a client may take to read an answer.
    package var writeTimeout: Duration = .seconds(30)
    /// How many event streams are open at a time; more are refused with 503.
    package var maxEventStreams = 64
    /// How many events wait for a slow reader of a stream before older ones are dropped.
    package var eventsKept = 256
    /// How many events are kept for clients that come back.
    package var eventHistory = 4096
    /// How long a stream is silent at most.
    package var heartbeat: Duration = .seconds(15)
    /// How often a stream tells how far the running tasks are.
    package var progressInterval: Duration = .milliseconds(200)
    /// What is left out of the URLs in events.
    package var redaction = URLRedaction()
    /// The names of the configured targets; only these get series of their own.
    package var targetNames: [Target: String] = [:]
    /// The version that the page shows.
    package var version = ""

    /// The defaults.
    package init() {}
}

/// A host or an address with a port, to listen at.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an address without brackets.
    package let host: String
    /// The port; 0 for any that is free.
    package let port: Int

    /// The default: this host only.
    package static let standard = ListenAddress(host: "127.0.0.1", port: 9843)

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which means every address.
    ///
    /// - Throws: ``EndpointError/badAddress(_:)``, which quotes the text.
    package init(_ text: String) throws(EndpointError) {
        guard let colon = text.lastIndex(of: ":") else { throw .badAddress(text) }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits)
        else { throw .badAddress(text) }
        self.port = Int(port)
        self.host = try ListenAddress.host(of: text[..<colon], in: text)
    }

    /// `HOST:PORT` or `[IPV6]:PORT`.
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    private static func host(of part: Substring, in text: String) throws(EndpointError) -> String {
        if part.isEmpty { return "::" }
        if part.hasPrefix("["), part.hasSuffix("]") {
            let inner = String(part.dropFirst().dropLast())
            guard IPAddress(inner)?.family == .ipv6 else { throw .badAddress(text) }
            return inner
        }
        // Without brackets a colon could belong to the address as well as to the port.
        guard !part.contains(":"), (try? Target(String(part))) != nil else { throw .badAddress(text) }
        return String(part)
    }
}
