internal import CNetlink
internal import TidegateCore

/// Why a request has no complete answer.
enum QueryFailure: Error {
    /// Part of the answer was lost; the socket may still hold the rest, so it cannot be used for more requests.
    case broken
    case failed(NetlinkError)
}

/// The socket for requests: dumps and lookups, each answered before the next is sent.
final class QueryChannel {
    /// A dump of links and addresses.
    struct Dump {
        var links: [KernelLink] = []
        var addresses: [KernelAddress] = []
        /// True if they changed while they were dumped.
        var isInterrupted = false
    }

    // Even the smallest receive buffer of a stock kernel holds the answers to this many requests.
    private static let questionsPerSend = 24
    private static let noAnswer = RouteLookup(matched: .none, chosen: .none)

    private let options: NetlinkOptions
    private let number: Int32
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0
    // Malformed messages, and messages that did not come from the kernel, since the last report.
    private var malformed = 0
    private var encoder = RequestEncoder()

    /// Opens the socket; generic netlink has another `number` than routes (netlink(7)).
    init(_ options: NetlinkOptions, protocol number: Int32 = NETLINK_ROUTE) throws(NetlinkError) {
        (self.options, self.number) = (options, number)
        self.socket = try QueryChannel.open(options, number)
    }

    private static func open(_ options: NetlinkOptions, _ number: Int32) throws(NetlinkError) -> NetlinkSocket {
        let socket = try NetlinkSocket.connected(.query, options, bufferBytes: 4 << 20, protocol: number)
        socket.setQueryOptions()
        return socket
    }

    /// Replaces the socket, because the kernel still holds the rest of an answer for the old one.
    func reopen() throws(NetlinkError) { self.socket = try QueryChannel.open(self.options, self.number) }

    /// The number of malformed messages since the last call.
    func takeMalformedCount() -> Int { Swift.exchange(&self.malformed, with: 0) }

    // MARK: Dumps

    /// Dumps links and addresses.
    func dump() throws(QueryFailure) -> Dump {
        var dump = Dump()
        try self.dump({ $0.linkDump(sequence: $1) }, &dump)
        try self.dump({ $0.addressDump(sequence: $1) }, &dump)
        return dump
    }

    private func dump(
        _ write: (inout RequestEncoder, UInt32) -> Void, _ dump: inout Dump
    ) throws(QueryFailure) {
        let sequence = try self.send(write)
        var end: NetlinkError?
        var (isDone, isGarbled) = (false, false)
        while !isDone {
            let received = self.socket.receive { bytes in
                MessageDecoder.decode(bytes) { envelope in
                    if envelope.message == nil { self.malformed += 1 }
                    guard envelope.sequence == sequence else { return isGarbled = envelope.message == nil || isGarbled }
                    if envelope.isInterrupted { dump.isInterrupted = true }
                    switch envelope.message {
                    case .done(let code), .error(let code, _):
                        isDone = true
                        if code != 0 { end = NetlinkError(operation: "dumping links and addresses", errno: abs(code)) }
                    case .overrun: dump.isInterrupted = true
                    case .link(let link): dump.links.append(link)
                    case .address(let address): dump.addresses.append(address)
                    case .linkGone, .addressGone, .route, .routeGone, .changed, .ignored, nil: break
                    }
                }
            }
            try self.check(received)
            // The unreadable message may have been a link, or the end of the dump.
            if isGarbled, !isDone { throw .broken }
        }
        dump.isInterrupted = dump.isInterrupted || isGarbled
        if let end { throw .failed(end) }
    }

    /// Sends one request; returns the sequence number of its answer.
    private func send(_ write: (inout RequestEncoder, UInt32) -> Void) throws(QueryFailure) -> UInt32 {
        self.sequence &+= 1
        self.encoder.clear()
        write(&self.encoder, self.sequence)
        do throws(NetlinkError) { try self.socket.send(self.encoder.requests) } catch { throw .failed(error) }
        return self.sequence
    }

    private func check(_ received: NetlinkSocket.Received) throws(QueryFailure) {
        switch received {
        case .datagram: return
        case .foreign: self.malformed += 1
        case .nothing: throw .failed(NetlinkError(operation: "asking the kernel", text: "no answer in time"))
        case .overrun, .truncated: throw .broken
        case .failed(let error): throw .failed(error)
        }
    }

    // MARK: Lookups

    /// Looks up every question both ways, and passes on the answers in the order of the questions.
    ///
    /// An answer that was lost or malformed twice is `none`. A kernel that does not answer for two seconds is an error:
    /// waiting that long for each of thousands of questions would block the thread for hours.
    func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) throws(NetlinkError) {
        var answers = [RouteLookup](repeating: QueryChannel.noAnswer, count: QueryChannel.questionsPerSend)
        var start = questions.startIndex
        while start < questions.endIndex {
            let end = min(start + QueryChannel.questionsPerSend, questions.endIndex)
            for place in 0..<end - start { answers[place] = QueryChannel.noAnswer }
            let isComplete = try self.request(questions[start..<end], &answers)
            if !isComplete { _ = try self.request(questions[start..<end], &answers) }
            for index in start..<end { body(index, answers[index - start]) }
            start = end
        }
    }

    /// False if an answer was lost or malformed; only its question then lacks an answer.
    private func request(
        _ questions: ArraySlice<RouteQuestion>, _ answers: inout [RouteLookup]
    ) throws(NetlinkError) -> Bool {
        let first = self.sequence &+ 1
        let count = 2 * questions.count
        self.sequence &+= UInt32(count)
        self.encoder.clear()
        var sequence = first
        for question in questions {
            self.encoder.lookups(question, sequence: sequence)
            sequence &+= 2
        }
        try self.socket.send(self.encoder.requests)
        // One bit for each missing answer; `unknown` counts received answers that cannot be assigned.
        var missing = UInt64.max >> UInt64(64 - count)
        let before = self.malformed
        var unknown = 0
        while missing.nonzeroBitCount > unknown {
            let received = self.socket.receive { bytes in
                let isWhole = MessageDecoder.each(bytes) { message in
                    let place = message.pointee.nlmsg_seq &- first
                    guard place < count else { return unknown += QueryChannel.isLate(place) ? 0 : 1 }
                    guard missing & (1 &<< UInt64(place)) != 0 else { return }
                    missing &= ~(1 &<< UInt64(place))
                    self.store(message, at: Int(place), in: &answers)
                }
                if !isWhole { unknown += 1 }
            }
            switch received {
            case .datagram: continue
            case .foreign: self.malformed += 1
            case .overrun, .truncated: return false
            case .nothing: throw NetlinkError(operation: "looking up routes", text: "no answer in time")
            case .failed(let error): throw error
            }
        }
        self.malformed += unknown
        return missing == 0 && self.malformed == before
    }

    // An answer to an earlier question that was given up.
    private static func isLate(_ place: UInt32) -> Bool { (1...0x10000).contains(0 &- place) }

    private func store(_ message: UnsafeMutablePointer<nlmsghdr>, at place: Int, in answers: inout [RouteLookup]) {
        guard let answer = MessageDecoder.answer(message) else { return self.malformed += 1 }
        if place % 2 == 0 { answers[place / 2].matched = answer } else { answers[place / 2].chosen = answer }
    }

    // MARK: Single objects; their answers are small, however large the tables are

    /// Every rule of a family, in the kernel's order.
    func rules(_ family: AddressFamily) throws(QueryFailure) -> [KernelRule] {
        try self.exchange({ $0.ruleDump(family, sequence: $1) }) { RuleDecoder.decode($0, in: family) }
    }

    /// The routes of a dump with at most `longest` network bits; empty if the table does not exist.
    ///
    /// All others are dropped while reading: a table with hundreds of thousands of routes takes no memory.
    func routes(_ family: AddressFamily, _ filter: RouteFilter, longest: UInt8) throws(QueryFailure) -> [DefaultRoute] {
        try self.exchange({ $0.routeDump(family, filter, sequence: $1) }) { message in
            // Kernels before 4.20 do not filter.
            guard let route = RouteDecoder.listed(message, longest: longest, in: family), route.table == filter.table,
                [0, route.routeProtocol].contains(filter.routeProtocol), [0, route.kind.number].contains(filter.type)
            else { return nil }
            return route
        }
    }

    /// The neighbour table's entry for an address; nil if none exists.
    func neighbour(_ key: NeighbourKey) throws(QueryFailure) -> KernelNeighbour? {
        try self.exchange({ $0.neighbour(key.address, on: key.link, sequence: $1) }, NeighbourDecoder.decode).last
    }

    /// Like ``neighbour(_:)``, but nil if the answer was lost; throws if the socket is unusable.
    func knownNeighbour(_ key: NeighbourKey) throws(NetlinkError) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        try self.tolerateLostAnswers { () throws(QueryFailure) in neighbour = try self.neighbour(key) }
        return neighbour
    }

    /// The settings of a link, or of all links together (-1).
    func settings(_ family: AddressFamily, of link: Int32) throws(QueryFailure) -> KernelSettings? {
        try self.exchange({ $0.settings(family, of: link, sequence: $1) }, NetconfDecoder.decode).last
    }

    /// A link; nil if it does not exist.
    func link(_ index: UInt32) throws(QueryFailure) -> KernelLink? {
        try self.exchange({ $0.link(index, sequence: $1) }) { message -> KernelLink? in
            guard Int(message.pointee.nlmsg_type) == RTM_NEWLINK,
                case .link(let link)? = LinkDecoder.decode(message, isGone: false)
            else { return nil }
            return link
        }.last
    }

    /// The queueing disciplines of a link, the root and those below it.
    func disciplines(of link: UInt32) throws(QueryFailure) -> [QueueDiscipline] {
        try self.exchange({ $0.disciplineDump(sequence: $1) }) { QueueDiscipline($0, of: link) }
    }

    /// Speed and duplex of a link; nil if its driver does not know them.
    func linkMode(of link: UInt32) throws(QueryFailure) -> LinkMode? {
        guard let family = try self.family("ethtool") else { return nil }
        return try self.exchange({ $0.linkMode(of: link, family, sequence: $1) }, LinkMode.init).last
    }

    /// The access point of a Wi-Fi link; nil for other links, and for an access point itself.
    func station(of link: UInt32) throws(QueryFailure) -> WirelessStation? {
        guard let family = try self.family("nl80211") else { return nil }
        let stations = try self.exchange({ $0.stationDump(of: link, family, sequence: $1) }, WirelessStation.init)
        return stations.count == 1 ? stations.first : nil
    }

    // The number of a generic netlink family; nil if the kernel lacks it.
    private func family(_ name: String) throws(QueryFailure) -> UInt16? {
        try self.exchange({ $0.family(name, sequence: $1) }) { message -> UInt16? in
            Attributes(message, fixedBytes: MemoryLayout<genlmsghdr>.size)?[CTRL_ATTR_FAMILY_ID]?.half
        }.last
    }

    /// Runs requests whose answers are optional: if one is lost, the rest is skipped and the socket replaced.
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

    /// Sends one request and collects the objects of its answer.
    ///
    /// An error from the kernel counts as an empty answer.
    private func exchange<Object>(
        _ write: (inout RequestEncoder, UInt32) -> Void, _ decode: (UnsafeMutablePointer<nlmsghdr>) -> Object?
    ) throws(QueryFailure) -> [Object] {
        let sequence = try self.send(write)
        var objects: [Object] = []
        var (isDone, isWhole) = (false, true)
        while !isDone {
            let received = self.socket.receive { bytes in
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
