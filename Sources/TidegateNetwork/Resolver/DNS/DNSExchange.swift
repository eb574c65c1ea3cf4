internal import CLinux
internal import CNetlink
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// A question under way: first by UDP, then perhaps over TCP.
struct DNSExchange: SocketExchange {
    private enum Transfer {
        case done(Int)
        /// Nothing now; the descriptor will be ready again.
        case later
        case failed(DNSOutcome)
    }

    static let (openLimit, waitingLimit, fullCode) = (64, 4096, EAGAIN)
    // Without EDNS no answer may be longer than 512 octets; some servers send more.
    static let bufferSize = 4096

    private let request: SocketRequest
    private let query: DNSQuery
    private let time: any TimeSource
    private let own: OwnSockets?
    private let deadline: MonotonicTime
    private var machine = DNSExchangeMachine()
    private var stream: DNSStream?
    // Moments of the loop's clock.
    private var end: MonotonicTime?
    private var resend: MonotonicTime?

    init(_ question: DNSQuestion, _ query: DNSQuery, _ time: any TimeSource, noting own: OwnSockets?) {
        self.request = SocketRequest(to: question.server, port: question.port, within: question.limit)
        self.query = query
        self.time = time
        self.own = own
        self.deadline = time.monotonic() + question.limit
    }

    var interest: Loop.Interest { self.stream?.unsent.isEmpty ?? true ? .read : .write }

    func timeToWait(at now: MonotonicTime) -> Duration {
        let end = self.end ?? now
        return min(end, self.resend ?? end) - now
    }

    mutating func open(at now: MonotonicTime) throws(SocketFailure) -> Int32 {
        let end = self.end ?? now + (self.deadline - self.time.monotonic())
        self.end = end
        guard end > now else { throw SocketFailure(operation: "socket", code: ETIMEDOUT) }
        return try self.request.open(self.stream == nil ? SOCK_DGRAM : SOCK_STREAM, noting: self.own)
    }

    mutating func begin(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<DNSOutcome> {
        self.stream == nil ? self.handle(.begin, descriptor, now) : .wait
    }

    mutating func expired(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<DNSOutcome> {
        self.handle(now >= self.end ?? now ? .limitReached : .resendDue, descriptor, now)
    }

    mutating func outcome(of failure: SocketFailure?) -> DNSOutcome {
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
                // If the kernel's buffer is full, it is sent again later.
                guard case .failed(let outcome) = self.send(self.query.bytes, on: descriptor) else { continue }
                return self.handle(.broken(outcome), descriptor, now)
            case .resend(let pause): self.resend = now + pause
            case .openStream:
                (self.stream, self.resend) = (DNSStream(self.query.bytes), nil)
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
            self.stream?.sent(count)
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

extension DNSOutcome {
    /// The outcome of a system call that failed; `error` is the ICMP error behind it.
    init(errorNumber code: Int32, _ error: ICMPError? = nil, server: IPAddress) {
        switch code {
        case ECONNREFUSED, ECONNRESET:
            // A firewall on the way sends the same error as a host whose port is closed.
            let isServers = error?.offender == nil || error?.isFrom(server) ?? true
            self = isServers ? .refused : .unreachable(error)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EACCES, EPERM, EINVAL, EADDRNOTAVAIL, EAFNOSUPPORT,
            EPROTO, ENOPROTOOPT, EOPNOTSUPP, ENODEV:
            self = .unreachable(error)
        case ETIMEDOUT: self = .timedOut
        case EAGAIN: self = .failed(code: "EAGAIN")
        case EMFILE, ENFILE: self = .failed(code: "EMFILE")
        case ENOBUFS, ENOMEM: self = .failed(code: "ENOBUFS")
        default: self = .failed(code: "errno \(code)")
        }
    }
}

/// A question and its answer on a stream, each preceded by its length in two octets (RFC 1035 4.2.2).
struct DNSStream {
    // Far longer than any list of addresses.
    private static let longest = 16_384

    /// The bytes that are still to be written.
    private(set) var unsent: ArraySlice<UInt8>
    private var received: [UInt8] = []

    init(_ message: [UInt8]) { self.unsent = DNSReply.framed(message)[...] }

    mutating func sent(_ count: Int) { self.unsent = self.unsent.dropFirst(count) }

    /// Adds bytes that were read; returns the answer once it is complete, an empty one if its length is out of bounds.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        self.received += bytes
        guard self.received.count >= 2 else { return nil }
        let length = Int(self.received[0]) << 8 | Int(self.received[1])
        guard length <= DNSStream.longest else { return [] }
        return self.received.count >= length + 2 ? Array(self.received[2..<(length + 2)]) : nil
    }
}
