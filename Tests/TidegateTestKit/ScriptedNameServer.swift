internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// A name server on 127.0.0.1, perhaps also on ::1, or on an address of a namespace, with scripted answers, valid or not;
/// stopped when it is released.
package final class ScriptedNameServer: Sendable {
    /// The datagrams that answer a question by UDP.
    package typealias Datagrams = @Sendable (_ question: [UInt8]) -> [[UInt8]]
    /// The bytes that answer a question over TCP before the connection is closed; the question is passed without its length.
    package typealias Stream = @Sendable (_ question: [UInt8]) -> [UInt8]

    /// The port, by UDP and, with a stream, over TCP.
    package let port: UInt16
    private let thread: LoopThread<NameServerHandler>
    private let state: NameServerState

    /// Starts listening on a free port; an impostor answers from another port.
    package convenience init(
        isImpostor: Bool = false, hasBothFamilies: Bool = false, stream: Stream? = nil,
        datagrams: @escaping Datagrams
    ) throws {
        let sockets = NameServerSocket(hasBothFamilies: hasBothFamilies)
        let (datagram, listener, port) = try sockets.openBoth(withStream: stream != nil)
        let answering = isImpostor ? try sockets.open(SOCK_DGRAM, port: 0).descriptor : datagram
        try self.init(
            .init(receiving: datagram, answering: answering, listener: listener), at: port, stream: stream, datagrams)
    }

    /// Starts listening on port 53 of an address in `namespace`, or of all its addresses for an IPv6 one; each answer is
    /// sent so much later.
    package convenience init(
        after delay: Duration, at address: IPAddress, in namespace: NetworkNamespace, datagrams: @escaping Datagrams
    ) throws {
        let descriptor = Atomic<Int32>(-1)
        let sockets = NameServerSocket(hasBothFamilies: address.family == .ipv6, address: address)
        try namespace.inside {
            let opened = try? sockets.open(SOCK_DGRAM, port: 53)
            descriptor.store(opened?.descriptor ?? -1, ordering: .releasing)
        }
        let datagram = descriptor.load(ordering: .acquiring)
        guard datagram >= 0 else { throw CommandFailure(description: "port 53 of \(address) cannot be opened") }
        try self.init(
            .init(receiving: datagram, answering: datagram, listener: nil), at: 53, stream: nil, datagrams)
        self.delay = delay
    }

    private init(
        _ sockets: NameServerHandler.Sockets, at port: UInt16, stream: Stream?, _ datagrams: @escaping Datagrams
    ) throws {
        let state = NameServerState()
        self.port = port
        self.state = state
        self.thread = try LoopThread(name: "tg-test-dns") { NameServerHandler($0, sockets, datagrams, stream, state) }
    }

    deinit { self.thread.stop() }

    /// The number of questions by UDP.
    package var datagramCount: Int { self.state.datagrams.load(ordering: .acquiring) }

    /// The number of questions over TCP.
    package var streamCount: Int { self.state.streams.load(ordering: .acquiring) }

    /// How much later answers by UDP are sent, from the next question on.
    package var delay: Duration {
        get { self.state.delay.withLock { $0 } }
        set { self.state.delay.withLock { $0 = newValue } }
    }
}

private final class NameServerState: Sendable {
    let datagrams = Atomic<Int>(0)
    let streams = Atomic<Int>(0)
    let delay = Mutex(Duration.zero)
}

private struct NameServerSocket {
    let hasBothFamilies: Bool
    var address = IPAddress(ipv4: 0x7F00_0001)

    // A port that is free for datagrams may be in use for streams: then another one is tried.
    func openBoth(withStream: Bool, attempts: Int = 20) throws -> (
        datagram: Int32, listener: Int32?, port: UInt16
    ) {
        let (datagram, port) = try self.open(SOCK_DGRAM, port: 0)
        guard withStream else { return (datagram, nil, port) }
        do {
            return (datagram, try self.open(SOCK_STREAM, port: port).descriptor, port)
        } catch {
            defer { close(datagram) }
            guard attempts > 1 else { throw error }
            return try self.openBoth(withStream: true, attempts: attempts - 1)
        }
    }

    func open(_ type: __socket_type, port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
        let family = self.hasBothFamilies ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(family)
        address.sin6_port = port.bigEndian
        // Where sockaddr_in has its address; bound to ::, an IPv6 socket takes both.
        if !self.hasBothFamilies {
            address.sin6_flowinfo = self.address.octets.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        }
        var size = socklen_t(
            self.hasBothFamilies ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isOpen, type == SOCK_DGRAM || listen(descriptor, 16) == 0 else {
            close(descriptor)
            throw CommandFailure(description: "a name server's port \(port) cannot be opened")
        }
        return (descriptor, UInt16(bigEndian: address.sin6_port))
    }
}

private final class NameServerHandler: LoopHandler {
    struct Sockets {
        let receiving: Int32
        let answering: Int32
        let listener: Int32?
    }

    private struct Reply {
        let bytes: [UInt8]
        let peer: sockaddr_in6
        let size: socklen_t
    }

    private let loop: Loop
    private let sockets: Sockets
    private let datagrams: ScriptedNameServer.Datagrams
    private let stream: ScriptedNameServer.Stream?
    private let state: NameServerState
    // By the tokens of their timers.
    private var replies: [UInt64: Reply] = [:]
    private var nextToken: UInt64 = 0

    init(
        _ loop: Loop, _ sockets: Sockets, _ datagrams: @escaping ScriptedNameServer.Datagrams,
        _ stream: ScriptedNameServer.Stream?, _ state: NameServerState
    ) {
        self.loop = loop
        self.sockets = sockets
        self.datagrams = datagrams
        self.stream = stream
        self.state = state
        for descriptor in [sockets.receiving, sockets.listener].compactMap({ $0 }) {
            try? loop.watch(descriptor, for: .read)
        }
    }

    func receive(_ command: Never) {}

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if descriptor == self.sockets.receiving { self.answerDatagram() } else { self.answerStream(descriptor) }
    }

    func stopping() {
        for descriptor in Set([self.sockets.receiving, self.sockets.answering, self.sockets.listener ?? -1]) {
            close(descriptor)
        }
    }

    private func answerDatagram() {
        var question = [UInt8](repeating: 0, count: 65_536)
        var peer = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let length = withUnsafeMutablePointer(to: &peer) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(self.sockets.receiving, &question, question.count, 0, $0, &size)
            }
        }
        // A hop walk sends a few bytes that are no question; a name server drops what has no header.
        guard length >= 12 else { return }
        self.state.datagrams.add(1, ordering: .acquiringAndReleasing)
        let delay = self.state.delay.withLock { $0 }
        for answer in self.datagrams(Array(question[..<length])) {
            let reply = Reply(bytes: answer, peer: peer, size: size)
            guard delay > .zero else {
                self.deliver(reply)
                continue
            }
            self.nextToken += 1
            self.replies[self.nextToken] = reply
            _ = self.loop.schedule(after: delay, token: self.nextToken)
        }
    }

    func timerFired(_ token: UInt64) {
        if let reply = self.replies.removeValue(forKey: token) { self.deliver(reply) }
    }

    private func deliver(_ reply: Reply) {
        var peer = reply.peer
        withUnsafePointer(to: &peer) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(self.sockets.answering, reply.bytes, reply.bytes.count, 0, $0, reply.size)
            }
        }
    }

    private func answerStream(_ listener: Int32) {
        let connection = accept(listener, nil, nil)
        guard connection >= 0, let stream = self.stream else { return }
        defer { close(connection) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var question = [UInt8](repeating: 0, count: 4096)
        let length = recv(connection, &question, question.count, 0)
        guard length > 2 else { return }
        self.state.streams.add(1, ordering: .acquiringAndReleasing)
        let answer = stream(Array(question[2..<length]))
        // In two pieces, as a network may deliver it.
        let half = answer.count / 2
        _ = send(connection, Array(answer[..<half]), half, Int32(MSG_NOSIGNAL))
        usleep(2000)
        _ = send(connection, Array(answer[half...]), answer.count - half, Int32(MSG_NOSIGNAL))
    }
}
