internal import CNetlink
internal import TidegateModel

/// The socket that asks: dumps and lookups, each answered before the next is sent.
final class QueryChannel {
    /// How a dump ended.
    enum DumpOutcome {
        case complete(links: [KernelLink], addresses: [KernelAddress], isInterrupted: Bool)
        case failed(NetlinkError)
    }

    // Even the smallest buffer of a stock kernel holds the answers to this many requests.
    private static let questionsPerSend = 24
    private static let timeoutSeconds = 2

    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0
    private var writer = RequestWriter()

    init() throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(bufferBytes: 4 << 20)
        self.socket.setQueryOptions(timeoutSeconds: QueryChannel.timeoutSeconds)
    }

    /// Dumps links and addresses.
    func dump() -> DumpOutcome {
        var (links, addresses): ([KernelLink], [KernelAddress]) = ([], [])
        var isInterrupted = false
        do throws(NetlinkError) {
            try self.dump({ $0.linkDump(sequence: $1) }, interrupted: &isInterrupted) { message in
                if case .link(let link) = message { links.append(link) }
            }
            try self.dump({ $0.addressDump(sequence: $1) }, interrupted: &isInterrupted) { message in
                if case .address(let address) = message { addresses.append(address) }
            }
        } catch {
            return .failed(error)
        }
        return .complete(links: links, addresses: addresses, isInterrupted: isInterrupted)
    }

    private func dump(
        _ write: (inout RequestWriter, UInt32) -> Void, interrupted: inout Bool, _ body: (KernelMessage) -> Void
    ) throws(NetlinkError) {
        self.sequence &+= 1
        let sequence = self.sequence
        self.writer.clear()
        write(&self.writer, sequence)
        try self.socket.send(self.writer.bytes)
        var end: NetlinkError?
        var isOver = false
        while !isOver {
            let received = self.socket.receive { bytes in
                MessageDecoder.decode(bytes) { envelope in
                    guard envelope.sequence == sequence, let message = envelope.message else { return }
                    if envelope.isInterrupted { interrupted = true }
                    switch message {
                    case .done(let code), .refused(let code, _):
                        isOver = true
                        if code != 0 { end = NetlinkError(operation: "dumping links and addresses", errno: abs(code)) }
                    case .overrun: interrupted = true
                    case .link, .linkGone, .address, .addressGone, .route, .routeGone, .news, .ignored: body(message)
                    }
                }
            }
            try QueryChannel.check(received)
        }
        if let end { throw end }
    }

    private static func check(_ received: NetlinkSocket.Received) throws(NetlinkError) {
        switch received {
        case .datagram, .foreign: return
        case .nothing: throw NetlinkError(operation: "dumping links and addresses", text: "no answer in time")
        case .overrun, .truncated:
            throw NetlinkError(operation: "dumping links and addresses", text: "answer too large")
        case .failed(let error): throw error
        }
    }

    /// Looks up every question, both ways.
    func lookUp(_ questions: ArraySlice<RouteQuestion>) throws(NetlinkError) -> [RouteLookup] {
        var answers = [RouteLookup](repeating: RouteLookup(matched: .none, chosen: .none), count: questions.count)
        var start = questions.startIndex
        while start < questions.endIndex {
            let end = min(start + QueryChannel.questionsPerSend, questions.endIndex)
            try self.lookUp(questions[start..<end], into: &answers, at: start - questions.startIndex)
            start = end
        }
        return answers
    }

    private func lookUp(
        _ questions: ArraySlice<RouteQuestion>, into answers: inout [RouteLookup], at offset: Int
    ) throws(NetlinkError) {
        let first = self.sequence &+ 1
        self.sequence &+= UInt32(2 * questions.count)
        self.writer.clear()
        for (position, question) in questions.enumerated() {
            self.writer.lookups(question, sequence: first &+ UInt32(2 * position))
        }
        try self.socket.send(self.writer.bytes)
        var missing = 2 * questions.count
        while missing > 0 {
            let received = self.socket.receive { bytes in
                MessageDecoder.decode(bytes) { envelope in
                    let place = Int(envelope.sequence &- first)
                    guard place < 2 * questions.count, let answer = RouteLookup.Answer(envelope.message) else { return }
                    missing -= 1
                    if place % 2 == 0 {
                        answers[offset + place / 2].matched = answer
                    } else {
                        answers[offset + place / 2].chosen = answer
                    }
                }
            }
            switch received {
            case .datagram, .foreign: continue
            // An answer that got lost stays `none`, which is judged as unknown.
            case .nothing, .overrun, .truncated: return
            case .failed(let error): throw error
            }
        }
    }
}

extension RouteLookup.Answer {
    fileprivate init?(_ message: KernelMessage?) {
        switch message {
        case .route(let route): self = .route(route)
        case .refused(let code, let hasText): self = .refused(errno: code, hasText: hasText)
        case .link, .linkGone, .address, .addressGone, .routeGone, .news, .done, .overrun, .ignored, nil: return nil
        }
    }
}
