internal import CLinux
internal import CNetlink
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Sends questions to name servers directly: by UDP, and over TCP if the answer is too long.
///
/// One thread, `tg-dns-client`, waits for all answers; it starts with the first question.
package final class DNSClient: Sendable {
    private let time: any TimeSource
    private let own: OwnSockets?
    private let thread: ExchangeThread<DNSExchange>

    /// Creates a client without a thread; `onThreadStart` later runs on it first, so that tests can enter a namespace.
    ///
    /// TCP sockets are recorded in `own`.
    package init(
        time: any TimeSource, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.time = time
        self.own = own
        self.thread = ExchangeThread(name: "tg-dns-client", onStart: onThreadStart)
    }

    /// Sends a question; `completion` is called once, on the client's thread, within the question's limit.
    ///
    /// At most 64 questions are open at a time and 4096 wait; further ones fail with `EAGAIN`. The limit starts with
    /// this call. For a name that does not fit into a packet, and so cannot exist, `completion` is called on the
    /// caller's thread.
    package func ask(_ question: DNSQuestion, completion: @escaping @Sendable (DNSOutcome) -> Void) {
        let query = DNSQuery(question.name, question.type, id: .random(in: .min ... .max))
        guard let query else { return completion(.nameNotFound) }
        self.thread.run(DNSExchange(question, query, self.time, noting: self.own), completion: completion)
    }

    /// Ends the open questions as timed out, then the thread.
    func stop() { self.thread.stop() }
}

/// A question about a name, for one server.
package struct DNSQuestion: Sendable, Hashable {
    /// The type of record.
    package enum RecordType: String, Sendable, CaseIterable, Hashable {
        /// IPv4 addresses.
        case a = "A"
        /// IPv6 addresses.
        case aaaa = "AAAA"

        /// The record type for addresses of a family.
        package init(_ family: AddressFamily) { self = family == .ipv4 ? .a : .aaaa }
    }

    /// The full name, with or without a final dot; no search list is applied.
    package var name: String
    /// The type of record.
    package var type: RecordType
    /// The server; a link-local one needs its zone.
    package var server: IPAddress
    /// The server's port.
    package var port: UInt16
    /// How long to wait for an answer in total.
    package var limit: Duration
    /// Whether it is asked over TCP only.
    package var usesTCP: Bool

    package init(
        name: String, type: RecordType, server: IPAddress, port: UInt16 = 53, limit: Duration = .seconds(3),
        usesTCP: Bool = false
    ) {
        self.usesTCP = usesTCP
        self.name = name
        self.type = type
        self.server = server
        self.port = port
        self.limit = limit
    }
}

/// The outcome of a question to one server.
package enum DNSOutcome: Sendable, Hashable {
    /// At least one address, valid for the shortest time to live along the chain of aliases.
    case answered([IPAddress], timeToLive: Duration)
    /// The name does not exist (NXDOMAIN).
    case nameNotFound
    /// The name exists, but has no address of this kind.
    case noData
    /// The server answered with a failure, named as in RFC 6895 (`SERVFAIL`, `REFUSED`); `MALFORMED` if it
    /// sent only packets that cannot be parsed or belong to another question. An error on this host has an errno's name
    /// or number.
    case failed(code: String)
    /// The server's port is closed (ECONNREFUSED).
    case refused
    /// No packet reaches the server: this host has no route (nil), or a router reported an error.
    case unreachable(ICMPError?)
    /// No answer arrived in time.
    case timedOut

    /// True if the server answered without a failure, whether or not the name exists.
    package var isAnswer: Bool {
        switch self {
        case .answered, .nameNotFound, .noData: true
        case .failed, .refused, .unreachable, .timedOut: false
        }
    }

    /// True if an error came back instead of a packet from the server.
    package var isRefusal: Bool { if case .unreachable = self { true } else { self == .refused } }

    /// The outcome of a failed system call; `error` is the ICMP error behind it.
    init(errorNumber code: Int32, _ error: ICMPError? = nil, server: IPAddress) {
        switch code {
        case ECONNREFUSED, ECONNRESET:
            // A firewall on the way sends the same error as a host with a closed port.
            let isServers = error?.offender == nil || error?.isFrom(server) ?? true
            self = isServers ? .refused : .unreachable(error)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EACCES, EPERM, EINVAL, EADDRNOTAVAIL, EAFNOSUPPORT,
            EPROTO, ENOPROTOOPT, EOPNOTSUPP, ENODEV,
            // The queue of a link that has just lost its carrier is full.
            ENOBUFS, ENOMEM:
            self = .unreachable(error)
        case ETIMEDOUT: self = .timedOut
        case EAGAIN: self = .failed(code: "EAGAIN")
        case EMFILE, ENFILE: self = .failed(code: "EMFILE")
        default: self = .failed(code: "errno \(code)")
        }
    }
}

/// An open question: first by UDP, then perhaps over TCP.
struct DNSExchange: SocketExchange {
    private enum Transfer {
        case done(Int)
        /// Nothing now; wait until the descriptor is ready again.
        case later
        case failed(DNSOutcome)
    }

    static let (openLimit, waitingLimit, fullCode) = (64, 4096, EAGAIN)
    // Without EDNS, answers may have at most 512 octets; some servers send more.
    static let bufferSize = 4096

    private let request: SocketRequest
    private let query: DNSQuery
    private let time: any TimeSource
    private let own: OwnSockets?
    private let deadline: MonotonicTime
    private var machine = DNSExchangeMachine()
    private var stream: DNSStream?
    // Moments on the loop's clock.
    private var end: MonotonicTime?
    private var resend: MonotonicTime?

    init(_ question: DNSQuestion, _ query: DNSQuery, _ time: any TimeSource, noting own: OwnSockets?) {
        self.request = SocketRequest(to: question.server, port: question.port, within: question.limit)
        self.query = query
        self.time = time
        self.own = own
        self.deadline = time.monotonic() + question.limit
        self.machine.usesTCP = question.usesTCP
    }

    var interest: Loop.Interest { self.stream?.unsent.isEmpty ?? true ? .read : .write }

    func timeToWait(at now: MonotonicTime) -> Duration {
        let end = self.end ?? now
        return min(end, self.resend ?? end) - now
    }

    mutating func open(at now: MonotonicTime) throws(LoopError) -> Int32 {
        let end = self.end ?? now + (self.deadline - self.time.monotonic())
        self.end = end
        guard end > now else { throw LoopError(operation: "socket", code: ETIMEDOUT) }
        return try self.request.open(self.stream == nil ? SOCK_DGRAM : SOCK_STREAM, noting: self.own)
    }

    mutating func begin(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<DNSOutcome> {
        self.stream == nil ? self.handle(.begin, descriptor, now) : .wait
    }

    mutating func expired(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<DNSOutcome> {
        self.handle(now >= self.end ?? now ? .limitReached : .resendDue, descriptor, now)
    }

    mutating func outcome(of failure: LoopError?) -> DNSOutcome {
        guard let failure else { return self.finish(.limitReached) ?? .timedOut }
        let outcome = DNSOutcome(errorNumber: failure.code, server: self.request.address)
        return self.finish(.broken(outcome)) ?? outcome
    }

    private mutating func finish(_ input: DNSExchangeMachine.Input) -> DNSOutcome? {
        for case .finish(let outcome) in self.machine.handle(input) { return outcome }
        return nil
    }

    private mutating func handle(
        _ input: DNSExchangeMachine.Input, _ descriptor: Int32, _ now: MonotonicTime
    ) -> ExchangeStep<DNSOutcome> {
        for effect in self.machine.handle(input) {
            switch effect {
            case .sendDatagram:
                // If the kernel's buffer is full, the packet is sent again later.
                guard case .failed(let outcome) = self.send(self.query.bytes, on: descriptor) else { continue }
                return self.handle(.broken(outcome), descriptor, now)
            case .resend(let pause): self.resend = now + pause
            case .openStream:
                (self.stream, self.resend) = (DNSStream(unsent: self.query.framed[...]), nil)
                return .reopen
            case .finish(let outcome): return .over(outcome)
            }
        }
        return .wait
    }

    mutating func ready(
        _ descriptor: Int32, into buffer: inout [UInt8], at now: MonotonicTime
    ) -> ExchangeStep<DNSOutcome> {
        guard let stream = self.stream else { return self.readDatagrams(descriptor, &buffer, now) }
        guard !stream.unsent.isEmpty else { return self.readStream(descriptor, &buffer, now) }
        let code = SocketAddress.pendingError(of: descriptor)
        switch code == 0 ? self.send(Array(stream.unsent), on: descriptor) : self.failure(code, descriptor) {
        case .later: return .wait
        case .failed(let outcome): return self.handle(.broken(outcome), descriptor, now)
        case .done(let count):
            self.stream?.unsent.removeFirst(count)
            return .wait
        }
    }

    private mutating func readDatagrams(
        _ descriptor: Int32, _ buffer: inout [UInt8], _ now: MonotonicTime
    ) -> ExchangeStep<DNSOutcome> {
        while true {
            var input = DNSExchangeMachine.Input.received(.foreign)
            // With MSG_TRUNC recv returns the full length of a datagram that is too large.
            switch self.receive(into: &buffer, from: descriptor, Int32(MSG_TRUNC)) {
            case .later: return .wait
            case .failed(let outcome): input = .broken(outcome)
            case .done(let count) where count > buffer.count: break
            case .done(let count): input = .received(DNSMessageParser.parse(Array(buffer[..<count]), of: self.query))
            }
            let step = self.handle(input, descriptor, now)
            guard case .wait = step else { return step }
        }
    }

    private mutating func readStream(
        _ descriptor: Int32, _ buffer: inout [UInt8], _ now: MonotonicTime
    ) -> ExchangeStep<DNSOutcome> {
        switch self.receive(into: &buffer, from: descriptor, 0) {
        case .later: return .wait
        case .failed(let outcome): return self.handle(.broken(outcome), descriptor, now)
        case .done(0): return self.handle(.received(.foreign), descriptor, now)
        case .done(let count):
            guard let answer = self.stream?.receive(buffer[..<count]) else { return .wait }
            return self.handle(.received(DNSMessageParser.parse(answer, of: self.query)), descriptor, now)
        }
    }

    // MARK: System calls

    private func send(_ bytes: [UInt8], on descriptor: Int32) -> Transfer {
        self.transfer(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)), descriptor)
    }

    private func receive(into buffer: inout [UInt8], from descriptor: Int32, _ flags: Int32) -> Transfer {
        self.transfer(recv(descriptor, &buffer, buffer.count, flags), descriptor)
    }

    private func transfer(_ count: Int, _ descriptor: Int32) -> Transfer {
        guard count < 0 else { return .done(count) }
        let code = errno
        return code == EAGAIN || code == EINTR ? .later : self.failure(code, descriptor)
    }

    private func failure(_ code: Int32, _ descriptor: Int32) -> Transfer {
        let error = ErrorQueue.drain(descriptor)?.refusal
        return .failed(DNSOutcome(errorNumber: code, error, server: self.request.address))
    }
}

/// A question and its answer on a stream, each preceded by its length in two octets (RFC 1035 4.2.2).
struct DNSStream {
    // Far longer than any list of addresses.
    private static let longest = 16_384

    /// The bytes still to be written.
    var unsent: ArraySlice<UInt8>
    var received: [UInt8] = []

    /// Adds received bytes; returns the complete answer, which is empty if its length is out of bounds.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        self.received += bytes
        guard self.received.count >= 2 else { return nil }
        let length = Int(self.received[0]) << 8 | Int(self.received[1])
        guard length <= DNSStream.longest else { return [] }
        return self.received.count >= length + 2 ? Array(self.received[2..<(length + 2)]) : nil
    }
}
