internal import CNetlink
internal import TidegateCore

// Single objects: rules, default routes, neighbours, settings; the answers are small, however large the tables are.
extension QueryChannel {
    /// Every rule of a family, in the kernel's order.
    func rules(_ family: AddressFamily) throws(QueryFailure) -> [KernelRule] {
        try self.exchange({ $0.ruleDump(family, sequence: $1) }) { RuleDecoder.decode($0, in: family) }
    }

    /// The routes of a dump whose prefix is no longer than `longest`; none if the table does not exist.
    ///
    /// All others are dropped while reading: nothing is kept of a table with hundreds of thousands.
    func routes(_ family: AddressFamily, _ filter: RouteFilter, longest: UInt8) throws(QueryFailure) -> [DefaultRoute] {
        try self.exchange({ $0.routeDump(family, filter, sequence: $1) }) { message in
            // Kernels before 4.20 do not filter.
            guard let route = RouteDecoder.listed(message, longest: longest, in: family), route.table == filter.table,
                [0, route.routeProtocol].contains(filter.routeProtocol), [0, route.kind.number].contains(filter.type)
            else { return nil }
            return route
        }
    }

    /// The neighbour table's entry for an address; nil if there is none.
    func neighbour(_ key: NeighbourKey) throws(QueryFailure) -> KernelNeighbour? {
        try self.exchange({ $0.neighbour(key.address, on: key.link, sequence: $1) }, NeighbourDecoder.decode).last
    }

    /// As ``neighbour(_:)``, and nil if the answer was lost; throws if the socket is unusable.
    func knownNeighbour(_ key: NeighbourKey) throws(NetlinkError) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        try self.tolerateLostAnswers { () throws(QueryFailure) in neighbour = try self.neighbour(key) }
        return neighbour
    }

    /// The settings of a link, or of all links together (-1).
    func settings(_ family: AddressFamily, of link: Int32) throws(QueryFailure) -> KernelSettings? {
        try self.exchange({ $0.settings(family, of: link, sequence: $1) }, NetconfDecoder.decode).last
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

    /// Sends one request and collects what the messages of its answer hold.
    ///
    /// An error from the kernel counts as an empty answer.
    private func exchange<Object>(
        _ write: (inout RequestEncoder, UInt32) -> Void, _ decode: (UnsafeMutablePointer<nlmsghdr>) -> Object?
    ) throws(QueryFailure) -> [Object] {
        let sequence = try self.send(write)
        var objects: [Object] = []
        var (isDone, isWhole) = (false, true)
        while !isDone {
            let received = self.receive { bytes in
                isWhole = MessageDecoder.each(bytes) { message in
                    guard message.pointee.nlmsg_seq == sequence, !isDone else { return }
                    let type = Int32(message.pointee.nlmsg_type)
                    let isEnd = type == NLMSG_DONE || type == NLMSG_ERROR
                    isDone = isEnd || message.pointee.nlmsg_flags & UInt16(NLM_F_MULTI) == 0
                    if !isEnd, let object = decode(message) { objects.append(object) }
                }
            }
            // These answers are optional, so a missing one replaces the socket instead of ending the connection.
            guard received != .nothing else { throw .broken }
            try self.check(received)
            guard isWhole || isDone else { throw .broken }
        }
        return objects
    }
}
