public import TidegateCore

/// How the TCP connections of other programs are observed.
public struct ConnectionsConfiguration: Sendable, Hashable {
    /// Whether they are observed at all; if not, not even a socket is opened.
    public var isEnabled = true
    /// From one list of the connections that are being opened to the next; 100 ms at least.
    public var connectingInterval = Duration.seconds(1)
    /// From one list of all connections to the next; 1 s at least.
    ///
    /// It is stretched so that lists take at most 1 % of a processor.
    public var establishedInterval = Duration.seconds(5)
    /// Whether connections of this machine to itself count.
    public var includesLoopback = false
    /// Networks whose connections do not count.
    public var excludedRemotes: [IPPrefix] = []
    /// Ports, of this host or of the remote, whose connections do not count.
    public var excludedPorts: Set<UInt16> = []
    /// How many connections are kept in mind; those beyond are counted at their end only.
    public var maxTracked = 50_000
    /// The receive buffer to request for messages of the kernel, in bytes; without CAP_NET_ADMIN it is limited by
    /// `net.core.rmem_max` (socket(7)).
    public var receiveBufferBytes = 8 << 20

    /// The defaults.
    public init(isEnabled: Bool = true) { self.isEnabled = isEnabled }

    /// Checks every value.
    ///
    /// - Throws: ``ConfigurationValueError``, which names the first property that is outside its range.
    public func validate() throws(ConfigurationValueError) {
        guard self.connectingInterval >= .milliseconds(100) else {
            throw ConfigurationValueError(property: "connectingInterval", problem: "it is less than 100 ms")
        }
        guard self.establishedInterval >= .seconds(1) else {
            throw ConfigurationValueError(property: "establishedInterval", problem: "it is less than 1 s")
        }
        guard self.maxTracked >= 1 else {
            throw ConfigurationValueError(property: "maxTracked", problem: "it is less than 1")
        }
        guard (4096...1 << 30).contains(self.receiveBufferBytes) else {
            throw ConfigurationValueError(
                property: "receiveBufferBytes", problem: "it is not between 4 KiB and 1 GiB")
        }
    }
}
