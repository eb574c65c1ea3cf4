internal import CNetlink
internal import TidegateCore

// What `explain` asks: rules, defaults, neighbours, settings; small answers, whatever the tables hold.
extension QueryChannel {
    /// Every rule of a family, in the kernel's order.
    func rules(_ family: AddressFamily) throws(QueryFailure) -> [KernelRule] {
        var rules: [KernelRule] = []
        try self.exchange({ $0.ruleDump(family, sequence: $1) }) { message in
            if let rule = RuleDecoder.decode(message, in: family) { rules.append(rule) }
        }
        return rules
    }

    /// The routes of a dump whose prefix is no longer than `longest`; none where the table does not exist.
    ///
    /// All others are dropped as they come: of a table with hundreds of thousands nothing stays.
    func routes(_ family: AddressFamily, _ filter: RouteFilter, longest: UInt8) throws(QueryFailure) -> [DefaultRoute] {
        var routes: [DefaultRoute] = []
        try self.exchange({ $0.routeDump(family, filter, sequence: $1) }) { message in
            guard let route = RouteDecoder.listed(message, longest: longest, in: family) else { return }
            // Kernels before 4.20 do not filter.
            guard route.table == filter.table, [0, route.routeProtocol].contains(filter.routeProtocol),
                [0, route.kind.number].contains(filter.type)
            else { return }
            routes.append(route)
        }
        return routes
    }

    /// What the link knows of an address; nil where there is no entry.
    func neighbour(_ key: NeighbourKey) throws(QueryFailure) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        try self.exchange({ $0.neighbour(key.address, on: key.link, sequence: $1) }) { message in
            neighbour = NeighbourDecoder.decode(message) ?? neighbour
        }
        return neighbour
    }

    /// The settings of a link, or of all links together (-1).
    func settings(_ family: AddressFamily, of link: Int32) throws(QueryFailure) -> KernelSettings? {
        var settings: KernelSettings?
        try self.exchange({ $0.settings(family, of: link, sequence: $1) }) { message in
            settings = NetconfDecoder.decode(message) ?? settings
        }
        return settings
    }

    /// Sends one request and hands over the messages of its answer; a refusal ends it like an empty one.
    private func exchange(
        _ write: (inout RequestEncoder, UInt32) -> Void, _ body: (UnsafeMutablePointer<nlmsghdr>) -> Void
    ) throws(QueryFailure) {
        let sequence = try self.send(write)
        var (isOver, isWhole) = (false, true)
        while !isOver {
            let received = self.socket.receive { bytes in
                isWhole = MessageDecoder.each(bytes) { message in
                    guard message.pointee.nlmsg_seq == sequence, !isOver else { return }
                    let type = Int32(message.pointee.nlmsg_type)
                    let isEnd = type == NLMSG_DONE || type == NLMSG_ERROR
                    isOver = isEnd || message.pointee.nlmsg_flags & UInt16(NLM_F_MULTI) == 0
                    if !isEnd { body(message) }
                }
            }
            // Whoever only tells a story goes on with another socket, rather than blind.
            guard received != .nothing else { throw .broken }
            try self.check(received)
            guard isWhole || isOver else { throw .broken }
        }
    }
}
