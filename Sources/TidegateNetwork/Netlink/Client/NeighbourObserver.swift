internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Watches entries of the neighbour tables.
///
/// Neighbour tables change with every host on the link, so the socket is open only while entries are watched.
final class NeighbourObserver {
    private static let pollInterval = Duration.seconds(5)

    private let options: NetlinkOptions
    private let timers: NetlinkTimers
    private var keys: Set<NeighbourKey> = []
    private var channel: NeighbourChannel?
    private var known: [NeighbourKey: KernelNeighbour] = [:]

    init(options: NetlinkOptions, timers: NetlinkTimers) {
        self.options = options
        self.timers = timers
    }

    func owns(_ descriptor: Int32) -> Bool { self.channel?.descriptor == descriptor }

    /// Watches these entries and no others.
    func watch(_ keys: Set<NeighbourKey>, query: QueryChannel?) throws(NetlinkError) {
        guard keys != self.keys else { return }
        self.keys = keys
        self.known = self.known.filter { keys.contains($0.key) }
        guard !keys.isEmpty else { return self.close() }
        guard let query else { return }
        if let channel = self.channel { channel.filter(keys) } else { self.open() }
        // Only changes from here on are reported.
        for key in keys where self.known[key] == nil { self.known[key] = try query.knownNeighbour(key) }
    }

    /// Opens the socket again after a reconnect or a failure.
    func start(_ query: QueryChannel, _ changes: inout NetlinkChanges) throws(NetlinkError) {
        guard !self.keys.isEmpty else { return }
        self.open()
        try self.refresh(query, &changes)
    }

    func close() {
        if let channel = self.channel { self.timers.unwatch(channel.descriptor) }
        self.channel = nil
        self.timers.cancel(.neighbours)
    }

    /// Reads every watched entry: messages may be missing, and some states change without a message.
    func refresh(_ query: QueryChannel, _ changes: inout NetlinkChanges) throws(NetlinkError) {
        for key in self.keys {
            let entry =
                try query.knownNeighbour(key) ?? KernelNeighbour(address: key.address, link: key.link, state: .none)
            if self.update(entry) { changes.neighbours.append(entry) }
        }
    }

    /// True if the entry is watched and has changed.
    private func update(_ neighbour: KernelNeighbour) -> Bool {
        guard self.keys.contains(neighbour.key), self.known[neighbour.key] != neighbour else { return false }
        self.known[neighbour.key] = neighbour
        return true
    }

    // If the kernel or a sandbox refuses the multicast group, the entries are polled.
    private func open() {
        guard !self.options.isOnce, self.channel == nil else { return }
        do throws(NetlinkError) {
            let channel = try NeighbourChannel(self.options)
            try channel.join(self.keys)
            try self.timers.watch(channel.descriptor)
            self.channel = channel
        } catch {
            self.timers.schedule(.neighbours, after: NeighbourObserver.pollInterval)
        }
    }

    /// Reads the queued messages; true if the kernel dropped some, so that the entries
    /// have to be read.
    func read(_ changes: inout NetlinkChanges) -> Bool {
        guard let channel = self.channel else { return false }
        var (added, removed, malformed) = (0, 0, 0)
        defer {
            if added > 0 { changes.events.append(.received(.newneigh, count: added)) }
            if malformed > 0 { changes.events.append(.malformed(count: malformed)) }
            if removed > 0 { changes.events.append(.received(.delneigh, count: removed)) }
        }
        for _ in 0..<2048 {
            let received = channel.receive(malformed: &malformed) { message in
                guard let neighbour = NeighbourDecoder.decode(message) else { return }
                if neighbour.state == .none { removed += 1 } else { added += 1 }
                if self.update(neighbour) { changes.neighbours.append(neighbour) }
            }
            switch received {
            case .datagram: continue
            case .foreign: malformed += 1
            case .nothing: return false
            case .overrun, .truncated:
                changes.events.append(.overrun)
                return true
            case .failed:
                self.close()
                self.timers.schedule(.neighbours, after: NeighbourObserver.pollInterval)
                return false
            }
        }
        return false
    }
}

/// The multicast socket for neighbour tables; separate, so that a flood of ARP cannot overrun the other one.
final class NeighbourChannel {
    // As many fit into one socket filter; with more, everything is read and most of it discarded.
    private static let filterLimit = 100
    private static let bufferBytes = 1 << 20

    private let socket: NetlinkSocket

    init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(
            .neighbours, options, bufferBytes: min(NeighbourChannel.bufferBytes, options.receiveBufferBytes))
        try self.socket.setNonblocking()
    }

    var descriptor: Int32 { self.socket.descriptor }

    /// Joins the group, after the filter is set.
    func join(_ keys: Set<NeighbourKey>) throws(NetlinkError) {
        self.filter(keys)
        try self.socket.join(RTNLGRP_NEIGH.rawValue)
    }

    /// Makes the kernel drop messages about other neighbours before they wake the thread.
    func filter(_ keys: Set<NeighbourKey>) {
        let program = keys.count <= NeighbourChannel.filterLimit ? NeighbourChannel.program(keys.map(\.address)) : []
        self.socket.setFilter(program)
    }

    func receive(
        malformed: inout Int, _ body: (UnsafeMutablePointer<nlmsghdr>) -> Void
    ) -> NetlinkSocket.Received {
        self.socket.receive { if !MessageDecoder.each($0, body) { malformed += 1 } }
    }

    // MARK: The filter

    // A message is nlmsghdr (16 bytes), ndmsg (12), and NDA_DST first (4, then the address); a multicast datagram has
    // one message. Only the last word of an IPv6 address is compared; other addresses that pass are discarded later.
    private static let familyOffset: UInt32 = 16
    private static let ipv4Offset: UInt32 = 32
    private static let ipv6Offset: UInt32 = 44

    /// A classic BPF program (Documentation/networking/filter.rst) that keeps messages about these addresses.
    ///
    /// Forwarding entries of bridges (AF_BRIDGE) arrive in the same group, and are dropped.
    static func program(_ addresses: [IPAddress]) -> [sock_filter] {
        func values(_ family: AddressFamily) -> [UInt32] {
            Set(addresses.filter { $0.family == family }.map { UInt32(truncatingIfNeeded: $0.bits.low) }).sorted()
        }
        let ipv4 = self.section(offset: self.ipv4Offset, values(.ipv4))
        let ipv6 = self.section(offset: self.ipv6Offset, values(.ipv6))
        return [
            .load(BPF_B, self.familyOffset), .test(UInt32(AF_INET), ifEqual: 1, otherwise: 0),
            .test(UInt32(AF_INET6), ifEqual: UInt8(ipv4.count), otherwise: UInt8(ipv4.count + ipv6.count - 2)),
        ] + ipv4 + ipv6
    }

    // Loads a word, compares it with each value, and ends with "drop" and "keep".
    private static func section(offset: UInt32, _ values: [UInt32]) -> [sock_filter] {
        let tests = values.enumerated().map { place, value in
            sock_filter.test(value, ifEqual: UInt8(values.count - place), otherwise: 0)
        }
        return [.load(BPF_W, offset)] + tests + [.drop, .keep]
    }
}
