internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket for one echo request: a datagram socket, which needs no privilege (icmp(7)), or a raw one where those are not
/// allowed.
final class EchoSocket {
    let descriptor: Int32
    private let isRaw: Bool
    private let packet: EchoPacket
    private let destination: IPAddress

    /// Opens the socket and connects it.
    init(_ request: EchoClient.Request, numbers: (id: UInt16, sequence: UInt16)) throws(EchoClient.Failure) {
        self.destination = request.address
        self.packet = EchoPacket(
            family: request.address.family, id: numbers.id, sequence: numbers.sequence, payload: request.payload)
        let domain = request.address.family == .ipv4 ? AF_INET : AF_INET6
        // IPPROTO_ICMP and IPPROTO_ICMPV6.
        let number: Int32 = request.address.family == .ipv4 ? 1 : 58
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let datagram = socket(domain, Int32(SOCK_DGRAM.rawValue | flags), number)
        self.isRaw = datagram < 0
        self.descriptor = datagram < 0 ? socket(domain, Int32(SOCK_RAW.rawValue | flags), number) : datagram
        guard self.descriptor >= 0 else {
            throw errno == EPERM ? .notPermitted : .failed(operation: "socket", code: errno)
        }
        do throws(EchoClient.Failure) {
            try self.configure(request, domain)
        } catch {
            self.close()
            throw error
        }
    }

    private func configure(_ request: EchoClient.Request, _ domain: Int32) throws(EchoClient.Failure) {
        ErrorQueue.open(self.descriptor, request.address.family)
        tg_receive_hop_limit(self.descriptor, domain)
        func check(_ operation: String, _ code: Int32) throws(EchoClient.Failure) {
            guard code == 0 else { throw .failed(operation: operation, code: code) }
        }
        if let limit = request.hopLimit { try check("ttl", tg_set_hop_limit(self.descriptor, domain, Int32(limit))) }
        if request.forbidsFragments, domain == AF_INET {
            try check("dont_fragment", tg_forbid_fragments(self.descriptor))
        }
        if let name = request.interface { try check("source_interface", tg_bind_to_device(self.descriptor, name)) }
        if let source = request.source { try check("bind", SocketAddress.bind(self.descriptor, to: source)) }
        try check("connect", SocketAddress.connect(self.descriptor, to: request.address, port: 0))
    }

    /// The address that it sends from; nil if there is none.
    var local: IPAddress? { SocketAddress.local(of: self.descriptor) }

    /// Sends the request; nil if it is on its way.
    func send() -> EchoClient.Result? {
        let bytes = self.packet.request
        guard Glibc.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 else { return nil }
        let code = errno
        let message = ErrorQueue.drain(self.descriptor)
        guard code == EMSGSIZE else { return .failed(.failed(operation: "send", code: code)) }
        return .tooLong(mtu: message.flatMap { $0.mtu > 0 ? $0.mtu : nil }, router: nil)
    }

    /// What came back, and with how many hops left; nil if nothing yet.
    func receive(into buffer: inout [UInt8], after duration: () -> Duration) -> EchoClient.Result? {
        if let error = self.nextError() { return error }
        var name = [UInt8](repeating: 0, count: SocketAddress.size)
        // Bounded, in case packets of others arrive faster than they are read.
        for _ in 0..<64 {
            var hopLimit: Int32 = -1
            let count = tg_receive_packet(
                self.descriptor, &buffer, buffer.count, &name, name.count, &hopLimit)
            guard count >= 0 else {
                if [EAGAIN, EINTR].contains(errno) { return nil }
                // That came behind the look at the queue. What it is about is only there: it may be another's, and then
                // there is more to receive.
                if let error = self.nextError() { return error }
                continue
            }
            guard SocketAddress.address(in: name)?.octets == self.destination.octets,
                self.packet.isAnswered(by: self.message(in: buffer.prefix(count)), checkingID: self.isRaw)
            else { continue }
            return .answered(hopLimit: hopLimit < 0 ? nil : Int(hopLimit), after: duration())
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
        return error.map(self.result)
    }

    // IPv4's raw sockets receive the header of IP as well.
    private func message(in packet: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard self.isRaw, self.packet.family == .ipv4, let first = packet.first else { return packet }
        return packet.dropFirst(Int(first & 0xF) * 4)
    }

    private func result(of error: ExtendedSocketError) -> EchoClient.Result {
        guard error.errorNumber == EMSGSIZE else { return .refused(error.refusal) }
        return .tooLong(mtu: error.mtu > 0 ? error.mtu : nil, router: error.refusal.offender)
    }

    func close() { _ = Glibc.close(self.descriptor) }
}
