internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Sends ICMP echo requests, as ping(8) does, each by a socket of its own.
///
/// One thread, `tg-echo`, waits for all answers; it starts with the first request.
package final class EchoClient: Sendable {
    /// One echo request.
    package struct Request: Sendable {
        /// Who is asked.
        package var socket: SocketRequest
        /// What the reply has to bring back.
        package var payload: [UInt8]
        /// How many routers it may pass; nil for this host's usual number.
        package var hopLimit: Int?
        /// Whether an IPv4 packet must stay whole.
        package var forbidsFragments = false

        /// A request that the kernel sends as it likes.
        package init(_ socket: SocketRequest, payload: [UInt8]) {
            self.socket = socket
            self.payload = payload
        }
    }

    /// What came back.
    package enum Result: Sendable, Hashable {
        /// The reply, and how many routers it could still have passed.
        case answered(hopLimit: Int?, after: Duration)
        /// A router on the way, or this host, refused it.
        case refused(ICMPError)
        /// The packet is longer than a link takes: a router's, or this host's own if `router` is nil.
        case tooLong(mtu: Int?, router: IPAddress?)
        /// Nothing came back in time.
        case silent
        /// This host could not send it.
        case failed(Failure)
    }

    /// Why this host could not send a request.
    package enum Failure: Error, Hashable {
        /// The group is not within `net.ipv4.ping_group_range`, and the process lacks CAP_NET_RAW.
        case notPermitted
        /// A step of it failed (errno(3)).
        case failed(operation: String, code: Int32)
    }

    /// A result, and what there was before it.
    package struct Outcome: Sendable, Hashable {
        package var result: Result
        /// How long the socket took to open.
        package var setup: Duration
        /// The address that was sent from; nil if there was none.
        package var local: IPAddress?
    }

    private let thread: ExchangeThread<EchoExchange>

    /// A client without a thread yet; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) {
        self.thread = ExchangeThread(name: "tg-echo", onStart: onThreadStart)
    }

    /// Sends a request and waits for what comes back.
    ///
    /// At most 1024 requests are under way at a time; further ones fail with `ENOBUFS` at once.
    package func send(_ request: Request) async -> Outcome {
        await self.thread.run(
            EchoExchange(request, id: .random(in: .min ... .max), sequence: .random(in: .min ... .max)))
    }
}

/// One echo request (RFC 792, RFC 4443 4) on a socket of its own: a datagram socket, which needs no privilege (icmp(7)),
/// or a raw one where those are not allowed.
struct EchoExchange: SocketExchange {
    private static let headerSize = 8

    private let request: EchoClient.Request
    private let id: UInt16
    private let sequence: UInt16
    private var isRaw = false
    private var descriptor: Int32 = -1
    private var start = MonotonicTime(nanoseconds: 0)
    private var sent = MonotonicTime(nanoseconds: 0)

    init(_ request: EchoClient.Request, id: UInt16, sequence: UInt16) {
        self.request = request
        self.id = id
        self.sequence = sequence
    }

    private var family: AddressFamily { self.request.socket.address.family }

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.socket.limit }

    mutating func open(at now: MonotonicTime) throws(LoopError) -> Int32 {
        (self.start, self.sent) = (now, now)
        let family = self.family
        // IPPROTO_ICMP and IPPROTO_ICMPV6.
        let number: Int32 = family == .ipv4 ? 1 : 58
        var descriptor = SocketAddress.socket(family, SOCK_DGRAM, number)
        self.isRaw = descriptor < 0
        if self.isRaw { descriptor = SocketAddress.socket(family, SOCK_RAW, number) }
        guard descriptor >= 0 else { throw LoopError(operation: "socket", code: errno) }
        try self.request.socket.connect(descriptor) { descriptor throws(LoopError) in
            tg_receive_hop_limit(descriptor, family.domain)
            if let limit = self.request.hopLimit {
                try LoopError.check("ttl", tg_set_hop_limit(descriptor, family.domain, Int32(limit)))
            }
            if self.request.forbidsFragments, family == .ipv4 {
                try LoopError.check("dont_fragment", tg_forbid_fragments(descriptor))
            }
        }
        self.descriptor = descriptor
        return descriptor
    }

    mutating func begin(_: Int32, at now: MonotonicTime) -> ExchangeStep<EchoClient.Outcome> {
        self.sent = now
        let bytes = self.packet
        guard send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 else { return .wait }
        let code = errno
        let message = ErrorQueue.drain(self.descriptor)
        guard code == EMSGSIZE else { return .over(self.outcome(.failed(.failed(operation: "send", code: code)))) }
        return .over(self.outcome(.tooLong(mtu: message.flatMap { $0.mtu > 0 ? $0.mtu : nil }, router: nil)))
    }

    func ready(_: Int32, into buffer: inout [UInt8], at now: MonotonicTime) -> ExchangeStep<EchoClient.Outcome> {
        self.receive(into: &buffer, at: now).map { .over(self.outcome($0)) } ?? .wait
    }

    func outcome(of failure: LoopError?) -> EchoClient.Outcome {
        guard let failure else { return self.outcome(.silent) }
        let isRefused = failure.operation == "socket" && failure.code == EPERM
        return self.outcome(
            .failed(isRefused ? .notPermitted : .failed(operation: failure.operation, code: failure.code)))
    }

    private func outcome(_ result: EchoClient.Result) -> EchoClient.Outcome {
        let local = self.descriptor < 0 ? nil : SocketAddress.local(of: self.descriptor)
        return EchoClient.Outcome(result: result, setup: self.sent - self.start, local: local)
    }

    // What came back, and with how many hops left; nil if nothing yet.
    private func receive(into buffer: inout [UInt8], at now: MonotonicTime) -> EchoClient.Result? {
        if let error = self.nextError() { return error }
        var name = [UInt8](repeating: 0, count: SocketAddress.size)
        // Bounded, in case packets of others arrive faster than they are read.
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = tg_receive_packet(self.descriptor, &buffer, buffer.count, &name, name.count, &hopLimit)
            guard count >= 0 else {
                if [EAGAIN, EINTR].contains(errno) { return nil }
                // That came behind the look at the queue. What it is about is only there: it may be another's, and then
                // there is more to receive.
                if let error = self.nextError() { return error }
                continue
            }
            guard SocketAddress.address(in: name)?.octets == self.request.socket.address.octets,
                self.isAnswered(by: Array(self.message(in: buffer.prefix(count))))
            else { continue }
            return .answered(hopLimit: hopLimit < 0 ? nil : Int(hopLimit), after: now - self.sent)
        }
        return nil
    }

    // What the queue says of the request; nil if nothing.
    private func nextError() -> EchoClient.Result? {
        // A redirect (ICMP type 5) comes with the packet on its way all the same.
        let error = ErrorQueue.drain(self.descriptor) { error, packet in
            !(error.origin == .icmp && error.refusal.type == 5)
                && self.isQuoted(in: Array(packet))
        }
        return error.map {
            guard $0.errorNumber == EMSGSIZE else { return .refused($0.refusal) }
            return .tooLong(mtu: $0.mtu > 0 ? $0.mtu : nil, router: $0.refusal.offender)
        }
    }

    // IPv4's raw sockets receive the header of IP as well.
    private func message(in packet: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard self.isRaw, self.family == .ipv4, let first = packet.first else { return packet }
        return packet.dropFirst(Int(first & 0xF) * 4)
    }

    // MARK: The packet

    // The kernel computes the checksum of every kind of socket but IPv4's raw one.
    private var packet: [UInt8] {
        var bytes: [UInt8] =
            [self.family == .ipv4 ? 8 : 128, 0, 0, 0, UInt8(self.id >> 8), UInt8(truncatingIfNeeded: self.id)]
            + [UInt8(self.sequence >> 8), UInt8(truncatingIfNeeded: self.sequence)] + self.request.payload
        let sum = Self.checksum(bytes)
        bytes[2] = UInt8(sum >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: sum)
        return bytes
    }

    // True if a message is the reply to this request.
    private func isAnswered(by message: [UInt8]) -> Bool {
        message.count == Self.headerSize + self.request.payload.count
            && message[0] == (self.family == .ipv4 ? 0 : 129) && message[1] == 0 && self.hasNumbers(message)
            && message.dropFirst(Self.headerSize).elementsEqual(self.request.payload)
    }

    // True if the packet that an error quotes is this request.
    private func isQuoted(in message: [UInt8]) -> Bool {
        message.count >= Self.headerSize ? self.hasNumbers(message) : !self.isRaw
    }

    // Of datagram sockets the kernel sets and checks the id itself.
    private func hasNumbers(_ bytes: [UInt8]) -> Bool {
        UInt16(bytes[6]) << 8 | UInt16(bytes[7]) == self.sequence
            && (!self.isRaw || UInt16(bytes[4]) << 8 | UInt16(bytes[5]) == self.id)
    }

    // The Internet checksum (RFC 1071).
    private static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 2) {
            sum += UInt32(bytes[index]) << 8 | (index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0)
        }
        while sum > 0xFFFF { sum = (sum & 0xFFFF) + sum >> 16 }
        return ~UInt16(sum)
    }
}
