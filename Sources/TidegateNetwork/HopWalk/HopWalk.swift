internal import CLinux
internal import Glibc
package import TidegateCore
package import TidegateLoop

/// Finds the routers on the path to a destination without privileges, like traceroute(8).
///
/// For each hop limit it tries a TCP connection and sends a UDP packet, and reads the routers' ICMP errors from the
/// sockets' error queues. The kernel accepts an ICMP error for a socket only if it quotes a packet that the socket
/// sent, so others cannot easily forge one. All packets leave at the same time, so a walk takes one round trip if
/// everything answers. A dedicated thread waits for the answers.
package final class HopWalk: Sendable {
    /// The maximum number of hops that a walk tries.
    package static let maximumHops = 16
    /// The maximum duration of a walk: a second later the kernel would repeat its TCP packets.
    package static let maximumDuration = Duration.seconds(1)

    private let thread: LoopThread<HopWalkLoop>

    /// Starts the thread; `onThreadStart` runs on it first, so that tests can enter a namespace.
    ///
    /// TCP sockets are recorded in `own`.
    package init(own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-hop-walk") { loop in
            onThreadStart()
            return HopWalkLoop(loop: loop, own: own)
        }
    }

    /// Walks to a port of an address; `completion` is called once, on the walk's thread.
    ///
    /// A server sees a connection that is reset immediately, and one byte by UDP; a name server sees questions about the
    /// root.
    package func walk(
        to address: IPAddress, port: UInt16, maximumHops: Int = HopWalk.maximumHops,
        within limit: Duration = HopWalk.maximumDuration, completion: @escaping @Sendable (HopWalkResult) -> Void
    ) {
        let request = HopWalkLoop.Request(
            destination: SocketRequest(to: address, port: port, within: min(limit, HopWalk.maximumDuration)),
            maximumHops: min(max(1, maximumHops), HopWalk.maximumHops), completion: completion)
        if !self.thread.send(request) {
            completion(HopWalkResult(destination: address, port: port, hops: [.failed(ESHUTDOWN)]))
        }
    }

    /// Ends every running walk with the results so far, then the thread.
    package func stop() { self.thread.stop() }
}

private final class HopWalkLoop: LoopHandler {
    struct Request: Sendable {
        let destination: SocketRequest
        let maximumHops: Int
        let completion: @Sendable (HopWalkResult) -> Void
    }

    private struct Walk {
        var machine: HopWalkMachine
        var timer: TimerID
        var sockets: [HopWalkMachine.Probe: HopSocket] = [:]
        let completion: @Sendable (HopWalkResult) -> Void
    }

    private let loop: Loop
    private var walks: [UInt64: Walk] = [:]
    private var owners: [Int32: (walk: UInt64, probe: HopWalkMachine.Probe)] = [:]
    private var lastID: UInt64 = 0

    private let own: OwnSockets?

    init(loop: Loop, own: OwnSockets?) {
        self.loop = loop
        self.own = own
    }

    func receive(_ request: Request) {
        self.lastID += 1
        let id = self.lastID
        let start = self.loop.clock.monotonic()
        var machine = HopWalkMachine(
            to: request.destination.address, port: request.destination.port, maximumHops: request.maximumHops,
            start: start, within: request.destination.limit)
        var sockets: [HopWalkMachine.Probe: HopSocket] = [:]
        // TCP sockets are announced together: an observer's queue has room for few announcements.
        var opened = machine.probes.filter { $0.transport == .tcp }.reduce(into: [:]) {
            $0[$1] = request.destination.socket(SOCK_STREAM)
        }.filter { $0.value >= 0 }
        self.own?.insert(opened.values.map(tg_socket_cookie))
        for probe in machine.probes where machine.isWanted(probe) {
            do throws(LoopError) {
                sockets[probe] = try self.open(
                    probe, opened.removeValue(forKey: probe), to: request.destination, owner: id)
            } catch {
                machine.record(.failed(error.code), for: probe, at: start)
            }
        }
        for descriptor in opened.values { _ = Glibc.close(descriptor) }
        let timer = self.loop.schedule(at: machine.deadline, token: id)
        self.walks[id] = Walk(machine: machine, timer: timer, sockets: sockets, completion: request.completion)
        self.update(id)
    }

    private func open(
        _ probe: HopWalkMachine.Probe, _ opened: Int32?, to destination: SocketRequest, owner: UInt64
    ) throws(LoopError) -> HopSocket {
        let socket = try HopSocket(probe, opened, to: destination, at: self.loop.clock.monotonic())
        try self.loop.watch(socket.descriptor, for: probe.transport == .tcp ? .write : .read)
        self.owners[socket.descriptor] = (owner, probe)
        return socket
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let (id, probe) = self.owners[descriptor], let socket = self.walks[id]?.sockets[probe],
            let outcome = socket.outcome(events, at: self.loop.now)
        else { return }
        self.walks[id]?.machine.record(outcome, for: probe, at: self.loop.now)
        self.update(id)
    }

    func timerFired(_ token: UInt64) { self.finish(token) }

    func stopping() {
        for id in Array(self.walks.keys) { self.finish(id) }
    }

    // Closes sockets that can bring no new information, and ends the walk or moves its deadline.
    private func update(_ id: UInt64) {
        guard let walk = self.walks[id] else { return }
        guard !walk.machine.isOver else { return self.finish(id) }
        for (probe, socket) in walk.sockets where !walk.machine.isWanted(probe) {
            self.close(socket)
            self.walks[id]?.sockets[probe] = nil
        }
        self.loop.cancel(walk.timer)
        self.walks[id]?.timer = self.loop.schedule(at: walk.machine.deadline, token: id)
    }

    private func finish(_ id: UInt64) {
        guard let walk = self.walks.removeValue(forKey: id) else { return }
        self.loop.cancel(walk.timer)
        for socket in walk.sockets.values { self.close(socket) }
        walk.completion(walk.machine.result(at: self.loop.clock.monotonic()))
    }

    private func close(_ socket: HopSocket) {
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(socket.descriptor)
        self.owners[socket.descriptor] = nil
        _ = Glibc.close(socket.descriptor)
    }
}

/// A socket whose packet has a limited number of hops.
struct HopSocket {
    let descriptor: Int32
    let sentAt: MonotonicTime
    private let transport: HopWalkMachine.Transport
    private let destination: IPAddress

    // A question about the addresses of the root, without recursion (RFC 1035 4.1): some name servers do not survive
    // other packets.
    private static let question: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]

    /// Sends the packet; a TCP socket may already be `opened`.
    init(
        _ probe: HopWalkMachine.Probe, _ opened: Int32?, to request: SocketRequest, at now: MonotonicTime
    ) throws(LoopError) {
        let isTCP = probe.transport == .tcp
        let payload = isTCP ? [] : request.port == 53 ? Self.question : [0]
        self.descriptor = try request.open(isTCP ? SOCK_STREAM : SOCK_DGRAM, opened, sending: payload) {
            descriptor throws(LoopError) in
            let domain = request.address.family.domain
            try LoopError.check("ttl", tg_set_hop_limit(descriptor, domain, Int32(probe.limit)))
            guard isTCP else { return }
            // Closing a successful connection resets it: the server need not wait for a request, and no state stays
            // behind on this host.
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        (self.sentAt, self.transport, self.destination) = (now, probe.transport, request.address)
    }

    /// The answer to the packet; nil if none has arrived.
    func outcome(_ events: Loop.Interest, at now: MonotonicTime) -> HopWalkResult.Outcome? {
        let duration = now - self.sentAt
        if let message = ErrorQueue.drain(self.descriptor) { return self.outcome(message, duration) }
        switch self.transport == .tcp ? SocketAddress.pendingError(of: self.descriptor) : self.received {
        case 0 where self.transport == .udp: return .reached(.datagram, after: duration)
        case 0: return events.contains(.write) ? .reached(.connected, after: duration) : nil
        case ECONNREFUSED: return .reached(.refused, after: duration)
        case EAGAIN, EINTR: return nil
        case let code: return .failed(code)
        }
    }

    private func outcome(_ message: ExtendedSocketError, _ duration: Duration) -> HopWalkResult.Outcome {
        let error = message.refusal
        if error.isFrom(self.destination) { return .reached(.unreachable(error), after: duration) }
        guard let router = error.offender, !error.isFrom(SocketAddress.local(of: self.descriptor)) else {
            return .failed(message.errorNumber)
        }
        return .answered(error, by: router, after: duration)
    }

    // 0 if a packet was received, otherwise the error number.
    private var received: Int32 {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, 0) >= 0 ? 0 : errno
    }
}
