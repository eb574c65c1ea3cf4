internal import CNetlink
internal import TidegateLoop
internal import TidegateCore

/// Which neighbours are watched, and what was last heard of them.
struct NeighbourWatch {
    var keys: Set<NeighbourKey> = []
    var channel: NeighbourChannel?
    var known: [NeighbourKey: KernelNeighbour] = [:]

    /// Takes news in; true where they are news.
    mutating func take(_ neighbour: KernelNeighbour) -> Bool {
        guard self.keys.contains(neighbour.key), self.known[neighbour.key] != neighbour else { return false }
        self.known[neighbour.key] = neighbour
        return true
    }
}

// Neighbour tables change with every host on the link, so they are heard of only while somebody has to know.
extension NetlinkClient {
    private static let neighbourInterval = Duration.seconds(5)

    /// Watches these entries of the neighbour tables and no others; changes arrive as ``NetlinkChanges/neighbours``.
    ///
    /// Nothing is listened to while there are none. What they are now, ``neighbour(of:on:)`` tells.
    package func watchNeighbours(_ keys: Set<NeighbourKey>) {
        guard keys != self.neighbours.keys else { return }
        self.neighbours.keys = keys
        self.neighbours.known = self.neighbours.known.filter { keys.contains($0.key) }
        guard !keys.isEmpty else { return self.stopNeighbours() }
        if let channel = self.neighbours.channel { channel.filter(keys) } else { self.openNeighbours() }
        // Changes are told from here on; the first state is for whoever asks.
        for key in keys where self.neighbours.known[key] == nil {
            self.neighbours.known[key] = self.neighbour(of: key.address, on: key.link)
        }
    }

    /// Reads what a socket has to say.
    func ready(_ descriptor: Int32) -> NetlinkChanges {
        guard let channel = self.neighbours.channel, channel.descriptor == descriptor else { return self.readMonitor() }
        return self.readNeighbours(channel)
    }

    /// Begins to listen again after the sockets were opened anew.
    func startNeighbours(_ news: inout NetlinkChanges) {
        guard !self.neighbours.keys.isEmpty else { return }
        self.openNeighbours()
        self.refreshNeighbours(&news)
    }

    func stopNeighbours() {
        // The descriptor is closed with the channel; a failure to unwatch it leaves nothing behind.
        if let channel = self.neighbours.channel { try? self.loop.unwatch(channel.descriptor) }
        self.neighbours.channel = nil
        self.disarm(.neighbours)
    }

    /// Asks for every watched entry: what was not heard, and the states that no message tells of.
    func refreshNeighbours(_ news: inout NetlinkChanges) {
        guard self.query != nil else { return }
        for key in self.neighbours.keys {
            let now = self.neighbour(of: key.address, on: key.link)
            guard case .connected = self.state else {
                if case .unavailable(let words) = self.state { news.events.append(.lost(words)) }
                return news.isStateChanged = true
            }
            let entry = now ?? KernelNeighbour(key.address, on: key.link, .none)
            if self.neighbours.take(entry) { news.neighbours.append(entry) }
        }
    }

    // A kernel or sandbox that refuses the group can still be asked now and then.
    private func openNeighbours() {
        guard !self.options.isOnce, self.query != nil, self.neighbours.channel == nil else { return }
        do throws(NetlinkError) {
            if let error = self.options.refusal(.neighbours) { throw error }
            let channel = try NeighbourChannel(self.options)
            try channel.join(self.neighbours.keys)
            try self.watch(channel.descriptor)
            self.neighbours.channel = channel
        } catch {
            self.arm(.neighbours, after: NetlinkClient.neighbourInterval)
        }
    }

    private func readNeighbours(_ channel: NeighbourChannel) -> NetlinkChanges {
        var news = NetlinkChanges()
        var (fresh, gone, malformed) = (0, 0, 0)
        for _ in 0..<2048 {
            let received = channel.receive(malformed: &malformed) { message in
                guard let neighbour = NeighbourDecoder.decode(message) else { return }
                if neighbour.state == .none { gone += 1 } else { fresh += 1 }
                if self.neighbours.take(neighbour) { news.neighbours.append(neighbour) }
            }
            switch received {
            case .datagram: continue
            case .foreign:
                malformed += 1
                continue
            case .nothing: break
            case .overrun, .truncated:
                self.health.overruns += 1
                news.events.append(.overrun)
                self.refreshNeighbours(&news)
            case .failed:
                self.stopNeighbours()
                self.arm(.neighbours, after: NetlinkClient.neighbourInterval)
            }
            break
        }
        if fresh > 0 { news.events.append(.received(.newneigh, count: fresh)) }
        if malformed > 0 { news.events.append(.malformed(count: malformed)) }
        if gone > 0 { news.events.append(.received(.delneigh, count: gone)) }
        return news
    }
}
