internal import CLinux
internal import Glibc
internal import TidegateCore

/// One echo request on a socket of its own: a datagram socket, which needs no privilege (icmp(7)), or a raw one where
/// those are not allowed.
struct EchoExchange: SocketExchange {
    private let request: EchoClient.Request
    private let packet: EchoPacket
    private var isRaw = false
    private var descriptor: Int32 = -1
    private var start = MonotonicTime(nanoseconds: 0)
    private var sent = MonotonicTime(nanoseconds: 0)

    init(_ request: EchoClient.Request, id: UInt16, sequence: UInt16) {
        self.request = request
        self.packet = EchoPacket(
            family: request.socket.address.family, id: id, sequence: sequence, payload: request.payload)
    }

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.socket.limit }

    mutating func open(at now: MonotonicTime) throws(SocketFailure) -> Int32 {
        (self.start, self.sent) = (now, now)
        let family = self.request.socket.address.family
        // IPPROTO_ICMP and IPPROTO_ICMPV6.
        let number: Int32 = family == .ipv4 ? 1 : 58
        var descriptor = SocketAddress.socket(family, SOCK_DGRAM, number)
        self.isRaw = descriptor < 0
        if self.isRaw { descriptor = SocketAddress.socket(family, SOCK_RAW, number) }
        guard descriptor >= 0 else { throw SocketFailure(operation: "socket", code: errno) }
        try self.request.socket.connect(descriptor) { descriptor throws(SocketFailure) in
            tg_receive_hop_limit(descriptor, family.domain)
            if let limit = self.request.hopLimit {
                try SocketFailure.check("ttl", tg_set_hop_limit(descriptor, family.domain, Int32(limit)))
            }
            if self.request.forbidsFragments, family == .ipv4 {
                try SocketFailure.check("dont_fragment", tg_forbid_fragments(descriptor))
            }
        }
        self.descriptor = descriptor
        return descriptor
    }

    mutating func begin(_: Int32, at now: MonotonicTime) -> ExchangeStep<EchoClient.Outcome> {
        self.sent = now
        let bytes = self.packet.request
        guard send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 else { return .wait }
        let code = errno
        let message = ErrorQueue.drain(self.descriptor)
        guard code == EMSGSIZE else { return .over(self.outcome(.failed(.failed(operation: "send", code: code)))) }
        return .over(self.outcome(.tooLong(mtu: message.flatMap { $0.mtu > 0 ? $0.mtu : nil }, router: nil)))
    }

    func ready(_: Int32, into buffer: inout [UInt8], at now: MonotonicTime) -> ExchangeStep<EchoClient.Outcome> {
        self.receive(into: &buffer, at: now).map { .over(self.outcome($0)) } ?? .wait
    }

    func outcome(of failure: SocketFailure?) -> EchoClient.Outcome {
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
                self.packet.isAnswered(by: self.message(in: buffer.prefix(count)), checkingID: self.isRaw)
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
                && self.packet.isQuoted(in: packet, checkingID: self.isRaw)
        }
        return error.map {
            guard $0.errorNumber == EMSGSIZE else { return .refused($0.refusal) }
            return .tooLong(mtu: $0.mtu > 0 ? $0.mtu : nil, router: $0.refusal.offender)
        }
    }

    // IPv4's raw sockets receive the header of IP as well.
    private func message(in packet: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard self.isRaw, self.packet.family == .ipv4, let first = packet.first else { return packet }
        return packet.dropFirst(Int(first & 0xF) * 4)
    }
}
