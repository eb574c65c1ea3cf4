internal import TidegateCore
internal import TidegateNetwork

/// The local ports on which programs listen, or listened within the last minute.
struct ListenerTable: Sendable {
    // A listener may close shortly before the connections that it accepted.
    private static let memory = Duration.seconds(60)

    private typealias Listener = (address: IPAddress, until: MonotonicTime?)

    private var listeners: [UInt16: [Listener]] = [:]
    /// The ports at which this program itself listens.
    private(set) var ownPorts: Set<UInt16> = []

    /// Takes a list of all listeners; `isOwn` returns whether this program holds an inode.
    mutating func replace(
        by reports: [SocketReport], at now: MonotonicTime, isOwn: (UInt32) -> Bool
    ) {
        var present: [UInt16: [Listener]] = [:]
        self.ownPorts = []
        for report in reports where report.state == .listen {
            present[report.local.port, default: []].append((report.local.address, nil))
            if report.inode != 0, isOwn(report.inode) { self.ownPorts.insert(report.local.port) }
        }
        for (port, old) in self.listeners {
            let gone = old.filter { listener in
                !(present[port]?.contains { $0.address == listener.address && $0.until == nil } ?? false)
                    && listener.until.map { $0 > now } ?? true
            }
            present[port, default: []] += gone.map {
                ($0.address, $0.until ?? now + Self.memory)
            }
        }
        self.listeners = present.filter { !$0.value.isEmpty }
    }

    /// Records that a listener, or a socket that was only bound, has closed.
    mutating func ended(port: UInt16, _ address: IPAddress, at now: MonotonicTime) {
        var listeners = self.listeners[port] ?? []
        // If lists are refused, nothing else removes them.
        listeners.removeAll { $0.until.map { $0 <= now } ?? false || $0.until != nil && $0.address == address }
        listeners.append((address, now + Self.memory))
        self.listeners[port] = listeners
    }

    /// Whether a connection with this local address and port was accepted here.
    func contains(_ local: SocketReport.Endpoint, at now: MonotonicTime) -> Bool {
        self.listeners[local.port]?.contains { listener in
            (listener.address.isUnspecified || listener.address.withoutZone == local.address.withoutZone
                || local.address.isUnspecified) && listener.until.map { $0 > now } ?? true
        } ?? false
    }
}
