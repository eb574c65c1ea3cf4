internal import CNetlink
internal import TidegateCore

/// Why a question went without its whole answer.
enum QueryFailure: Error {
    /// A part of the answer was lost; the socket may hold the rest, so that it can be asked nothing more.
    case broken
    case failed(NetlinkError)
}

/// The socket that asks: dumps and lookups, each answered before the next is sent.
final class QueryChannel {
    /// How a dump ended.
    enum DumpOutcome {
        case complete(links: [KernelLink], addresses: [KernelAddress], isInterrupted: Bool)
        /// A part of the answer was lost; the socket may hold the rest, so that it can be asked nothing more.
        case broken
        case failed(NetlinkError)
    }

    // Even the smallest buffer of a stock kernel holds the answers to this many requests.
    private static let questionsPerSend = 24
    private static let timeoutSeconds = 2
    private static let noAnswer = RouteLookup(matched: .none, chosen: .none)

    let socket: NetlinkSocket
    private var sequence: UInt32 = 0
    /// Messages that made no sense, or came from somebody else than the kernel, since somebody asked.
    private var nonsense = 0
    private var writer = RequestEncoder()

    init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(.query, options, bufferBytes: 4 << 20)
        self.socket.setQueryOptions(timeoutSeconds: QueryChannel.timeoutSeconds)
    }

    // MARK: Dumps

    /// Dumps links and addresses.
    func dump() -> DumpOutcome {
        var (links, addresses): ([KernelLink], [KernelAddress]) = ([], [])
        var isInterrupted = false
        do throws(QueryFailure) {
            try self.dump({ $0.linkDump(sequence: $1) }, interrupted: &isInterrupted) { message in
                if case .link(let link) = message { links.append(link) }
            }
            try self.dump({ $0.addressDump(sequence: $1) }, interrupted: &isInterrupted) { message in
                if case .address(let address) = message { addresses.append(address) }
            }
        } catch {
            switch error {
            case .broken: return .broken
            case .failed(let error): return .failed(error)
            }
        }
        return .complete(links: links, addresses: addresses, isInterrupted: isInterrupted)
    }

    private func dump(
        _ write: (inout RequestEncoder, UInt32) -> Void, interrupted: inout Bool, _ body: (NetlinkMessage) -> Void
    ) throws(QueryFailure) {
        let sequence = try self.send(write)
        var end: NetlinkError?
        var (isOver, isGarbled) = (false, false)
        while !isOver {
            let received = self.socket.receive { bytes in
                MessageDecoder.decode(bytes) { envelope in
                    if envelope.message == nil { self.nonsense += 1 }
                    guard envelope.sequence == sequence else { return isGarbled = envelope.message == nil || isGarbled }
                    if envelope.isInterrupted { interrupted = true }
                    switch envelope.message {
                    case .done(let code), .refused(let code, _):
                        isOver = true
                        if code != 0 { end = NetlinkError(operation: "dumping links and addresses", errno: abs(code)) }
                    case .overrun: interrupted = true
                    case .link, .linkGone, .address, .addressGone, .route, .routeGone, .news, .ignored:
                        if let message = envelope.message { body(message) }
                    case nil: break
                    }
                }
            }
            try self.check(received)
            // What could not be read may have been a link, or the end.
            if isGarbled, !isOver { throw .broken }
        }
        interrupted = interrupted || isGarbled
        if let end { throw .failed(end) }
    }

    /// Sends one request; the sequence number of its answer.
    func send(_ write: (inout RequestEncoder, UInt32) -> Void) throws(QueryFailure) -> UInt32 {
        self.sequence &+= 1
        self.writer.clear()
        write(&self.writer, self.sequence)
        do throws(NetlinkError) { try self.socket.send(self.writer.bytes) } catch { throw .failed(error) }
        return self.sequence
    }

    /// How many messages made no sense since the last call.
    func takeNonsense() -> Int {
        defer { self.nonsense = 0 }
        return self.nonsense
    }

    func check(_ received: NetlinkSocket.Received) throws(QueryFailure) {
        switch received {
        case .datagram: return
        case .foreign: self.nonsense += 1
        case .nothing: throw .failed(NetlinkError(operation: "asking the kernel", text: "no answer in time"))
        case .overrun, .truncated: throw .broken
        case .failed(let error): throw .failed(error)
        }
    }

    // MARK: Lookups

    /// Looks up every question, both ways, and hands over the answers in the questions' order.
    ///
    /// An answer that got lost twice, or twice made no sense, is `none`. A kernel that says nothing for two seconds is an error: waiting as
    /// long for each of thousands would hold the thread for hours.
    func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) throws(NetlinkError) {
        var answers = [RouteLookup](repeating: QueryChannel.noAnswer, count: QueryChannel.questionsPerSend)
        var start = questions.startIndex
        while start < questions.endIndex {
            let end = min(start + QueryChannel.questionsPerSend, questions.endIndex)
            for place in 0..<end - start { answers[place] = QueryChannel.noAnswer }
            let isWhole = try self.ask(questions[start..<end], &answers)
            if !isWhole { _ = try self.ask(questions[start..<end], &answers) }
            for index in start..<end { body(index, answers[index - start]) }
            start = end
        }
    }

    /// False where an answer was lost or made no sense; that question alone goes without it.
    private func ask(
        _ questions: ArraySlice<RouteQuestion>, _ answers: inout [RouteLookup]
    ) throws(NetlinkError) -> Bool {
        let first = self.sequence &+ 1
        let count = 2 * questions.count
        self.sequence &+= UInt32(count)
        self.writer.clear()
        var sequence = first
        for question in questions {
            self.writer.lookups(question, sequence: sequence)
            sequence &+= 2
        }
        try self.socket.send(self.writer.bytes)
        // A bit for every answer that is still to come; of some nobody can say any more which they were.
        var missing = UInt64.max >> UInt64(64 - count)
        let before = self.nonsense
        var unknown = 0
        while missing.nonzeroBitCount > unknown {
            let received = self.socket.receive { bytes in
                let isWhole = MessageDecoder.each(bytes) { message in
                    let place = message.pointee.nlmsg_seq &- first
                    guard place < count else { return unknown += QueryChannel.isLate(place) ? 0 : 1 }
                    guard missing & (1 &<< UInt64(place)) != 0 else { return }
                    missing &= ~(1 &<< UInt64(place))
                    self.take(message, at: Int(place), into: &answers)
                }
                if !isWhole { unknown += 1 }
            }
            switch received {
            case .datagram: continue
            case .foreign: self.nonsense += 1
            case .overrun, .truncated: return false
            case .nothing: throw NetlinkError(operation: "looking up routes", text: "no answer in time")
            case .failed(let error): throw error
            }
        }
        self.nonsense += unknown
        return missing == 0 && self.nonsense == before
    }

    // An answer to an earlier question, which nobody waited for to the end.
    private static func isLate(_ place: UInt32) -> Bool { (1...0x10000).contains(0 &- place) }

    private func take(_ message: UnsafeMutablePointer<nlmsghdr>, at place: Int, into answers: inout [RouteLookup]) {
        guard let answer = MessageDecoder.answer(message) else { return self.nonsense += 1 }
        if place % 2 == 0 { answers[place / 2].matched = answer } else { answers[place / 2].chosen = answer }
    }
}
