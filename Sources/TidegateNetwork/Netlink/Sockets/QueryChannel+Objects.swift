internal import CNetlink
internal import TidegateCore

// Single objects: rules, default routes, neighbours, settings; the answers are small, however large the tables are.
extension QueryChannel {
    /// Every rule of a family, in the kernel's order.
    func rules(_ family: AddressFamily) throws(QueryFailure) -> [KernelRule] {
        var rules: [KernelRule] = []
        try self.exchange({ $0.ruleDump(family, sequence: $1) }) { message in
            if let rule = RuleDecoder.decode(message, in: family) { rules.append(rule) }
        }
        return rules
    }

    /// The routes of a dump whose prefix is no longer than `longest`; none if the table does not exist.
    ///
    /// All others are dropped while reading: nothing is kept of a table with hundreds of thousands.
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

    /// The neighbour table's entry for an address; nil if there is none.
    func neighbour(_ key: NeighbourKey) throws(QueryFailure) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        try self.exchange({ $0.neighbour(key.address, on: key.link, sequence: $1) }) { message in
            neighbour = NeighbourDecoder.decode(message) ?? neighbour
        }
        return neighbour
    }

    /// As ``neighbour(_:)``, and nil if the answer was lost; throws if the socket is unusable.
    func knownNeighbour(_ key: NeighbourKey) throws(NetlinkError) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        try self.tolerateLostAnswers { () throws(QueryFailure) in neighbour = try self.neighbour(key) }
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

    /// Runs requests that may stay without an answer: if one is lost, the rest is skipped and the socket replaced.
    func tolerateLostAnswers(_ body: () throws(QueryFailure) -> Void) throws(NetlinkError) {
        do throws(QueryFailure) {
            try body()
        } catch {
            switch error {
            case .failed(let error): throw error
            case .broken: try self.reopen()
            }
        }
    }

    /// Sends one request and passes on the messages of its answer; an error from the kernel counts as an empty answer.
    private func exchange(
        _ write: (inout RequestEncoder, UInt32) -> Void, _ body: (UnsafeMutablePointer<nlmsghdr>) -> Void
    ) throws(QueryFailure) {
        let sequence = try self.send(write)
        var (isDone, isWhole) = (false, true)
        while !isDone {
            let received = self.receive { bytes in
                isWhole = MessageDecoder.each(bytes) { message in
                    guard message.pointee.nlmsg_seq == sequence, !isDone else { return }
                    let type = Int32(message.pointee.nlmsg_type)
                    let isEnd = type == NLMSG_DONE || type == NLMSG_ERROR
                    isDone = isEnd || message.pointee.nlmsg_flags & UInt16(NLM_F_MULTI) == 0
                    if !isEnd { body(message) }
                }
            }
            // These answers are optional, so a missing one replaces the socket instead of ending the connection.
            guard received != .nothing else { throw .broken }
            try self.check(received)
            guard isWhole || isDone else { throw .broken }
        }
    }
}
