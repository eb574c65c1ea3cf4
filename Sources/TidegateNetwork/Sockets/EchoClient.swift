internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Sends ICMP echo requests like ping(8), each on a socket of its own.
///
/// One thread, `tg-echo`, waits for all answers; it starts with the first request.
package final class EchoClient: Sendable {
    /// One echo request.
    package struct Request: Sendable {
        /// The destination and the local end.
        package var socket: SocketRequest
        /// The payload that the reply must repeat.
        package var payload: [UInt8]
        /// The hop limit; nil for this host's default.
        package var hopLimit: Int?
        /// Whether fragmentation of an IPv4 packet is forbidden.
        package var forbidsFragments = false

        /// Creates a request with the kernel's default settings.
        package init(_ socket: SocketRequest, payload: [UInt8]) {
            self.socket = socket
            self.payload = payload
        }
    }

    /// The result of a request.
    package enum Result: Sendable, Hashable {
        /// The reply arrived; `hopLimit` is its remaining hop limit.
        case answered(hopLimit: Int?, after: Duration)
        /// A router on the way, or this host, refused the request.
        case refused(ICMPError)
        /// The packet exceeds the MTU of a router's link, or of this host's own if `router` is nil.
        case tooLong(mtu: Int?, router: IPAddress?)
        /// No reply arrived in time.
        case silent
        /// This host could not send the request.
        case failed(Failure)
    }

    /// Why this host could not send a request.
    package enum Failure: Error, Hashable {
        /// The process's group is outside `net.ipv4.ping_group_range`, and the process lacks CAP_NET_RAW.
        case notPermitted
        /// An operation failed (errno(3)).
        case failed(operation: String, code: Int32)
    }

    /// A result, with details of the request.
    package struct Outcome: Sendable, Hashable {
        package var result: Result
        /// How long the socket took to open.
        package var setup: Duration
        /// The source address; nil if there was none.
        package var local: IPAddress?
    }

    private let thread: ExchangeThread<EchoExchange>

    /// Creates a client without a thread; `onThreadStart` later runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) {
        self.thread = ExchangeThread(name: "tg-echo", onStart: onThreadStart)
    }

    /// Sends a request and waits for the result.
    ///
    /// At most 1024 requests are open at a time; further ones immediately fail with `ENOBUFS`.
    package func send(_ request: Request) async -> Outcome {
        await self.thread.run(
            EchoExchange(request: request, id: .random(in: .min ... .max), sequence: .random(in: .min ... .max)))
    }
}

/// One echo request (RFC 792, RFC 4443 4) on its own datagram socket, which needs no privilege (icmp(7)), or on a raw
/// socket if datagram sockets are not permitted.
struct EchoExchange: SocketExchange {
    private static let headerSize = 8

    let request: EchoClient.Request
    let id: UInt16
    let sequence: UInt16
    private(set) var isRaw = false
    private(set) var descriptor: Int32 = -1
    private(set) var start = MonotonicTime(nanoseconds: 0)
    private(set) var sent = MonotonicTime(nanoseconds: 0)

    private var family: AddressFamily { self.request.socket.address.family }

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.socket.limit }

    mutating func open(at now: MonotonicTime) throws(LoopError) -> Int32 {
        (self.start, self.sent) = (now, now)
        let family = self.family
        // IPPROTO_ICMP and IPPROTO_ICMPV6.
        let number: Int32 = family == .ipv4 ? 1 : 58
        var descriptor = self.request.socket.socket(SOCK_DGRAM, number)
        self.isRaw = descriptor < 0
        if self.isRaw { descriptor = self.request.socket.socket(SOCK_RAW, number) }
        guard descriptor >= 0 else { throw LoopError(operation: "socket", code: errno) }
        try self.request.socket.connect(descriptor, SOCK_DGRAM) { descriptor throws(LoopError) in
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

    // The result and the remaining hop limit; nil if nothing has arrived.
    private func receive(into buffer: inout [UInt8], at now: MonotonicTime) -> EchoClient.Result? {
        if let error = self.nextError() { return error }
        var name = [UInt8](repeating: 0, count: SocketAddress.size)
        // Bounded, in case foreign packets arrive faster than this reads them.
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = tg_receive_packet(self.descriptor, &buffer, buffer.count, &name, name.count, &hopLimit)
            guard count >= 0 else {
                if [EAGAIN, EINTR].contains(errno) { return nil }
                // The error arrived after the queue was read. Only the queue shows which packet it is about; if it is
                // another one, there is more to receive.
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

    // The error queue's result for the request; nil if none exists.
    private func nextError() -> EchoClient.Result? {
        // A redirect (ICMP type 5) does not mean that the packet was dropped.
        let error = ErrorQueue.drain(self.descriptor) { error, packet in
            !(error.origin == .icmp && error.refusal.type == 5)
                && self.isQuoted(in: Array(packet))
        }
        return error.map {
            guard $0.errorNumber == EMSGSIZE else { return .refused($0.refusal) }
            return .tooLong(mtu: $0.mtu > 0 ? $0.mtu : nil, router: $0.refusal.offender)
        }
    }

    // Raw IPv4 sockets also receive the IP header.
    private func message(in packet: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard self.isRaw, self.family == .ipv4, let first = packet.first else { return packet }
        return packet.dropFirst(Int(first & 0xF) * 4)
    }

    // MARK: The packet

    // The kernel computes the checksum for every kind of socket except raw IPv4 ones.
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

    // On datagram sockets the kernel itself sets and checks the id.
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
