internal import CCurl
internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// An attempt's tries to connect, and the connection it got.
///
/// Several addresses are tried at once or one after the other.
struct ConnectionInfo {
    /// How often the request was started on the wire.
    private(set) var starts = 0
    /// Whether a socket was opened for this attempt.
    var hasOpened = false
    /// Whether the kept connection was dropped before the request was sent, because something had arrived on it.
    var isGivenUp = false
    /// Whether a socket could not be opened because no descriptor was free.
    var lackedDescriptor = false
    /// Whether one of the tries became a connection.
    var hasConnected = false
    /// The address of that connection.
    var connectedAddress: IPAddress?
    /// The failed try that came furthest: it tells more than one that this host did not let out at all.
    private(set) var bestFailure: FailedConnect?
    /// The addresses that had their time and did not answer.
    private(set) var silentAddresses: [IPAddress] = []
    /// The local port of the connection; 0 before the request was started.
    private(set) var localPort: UInt16 = 0
    /// What the server showed in the handshake; nil before, and without TLS.
    var certificates: ServerCertificates?
    private var local = CachedAddress()
    private var remote = CachedAddress()

    /// Whether a connection was made, or an earlier one is used.
    var isConnected: Bool { self.hasConnected || self.starts > 0 }

    /// Whether the attempt has, or is getting, a connection.
    var usesConnection: Bool { self.hasOpened || self.starts > 0 }

    mutating func noteFailure(_ failure: FailedConnect) {
        if failure.isSilence, let address = failure.address, !self.silentAddresses.contains(address) {
            self.silentAddresses.append(address)
        }
        // The first of several equal ones was preferred by the order of the addresses.
        if let best = self.bestFailure, best.rank >= failure.rank, best.address != failure.address { return }
        self.bestFailure = failure
    }

    /// The request is about to be sent, as libcurl's prerequest callback says.
    mutating func noteStart(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, localPort: Int32) {
        self.starts += 1
        self.localPort = UInt16(truncatingIfNeeded: localPort)
        self.local.update(local)
        self.remote.update(remote)
    }

    /// The connection; nil before the request was started.
    mutating func facts() -> ConnectionFacts? {
        guard self.starts > 0 else { return nil }
        return ConnectionFacts(local: self.local.parsed(), remote: self.remote.parsed(), isReused: !self.hasOpened)
    }

    /// Forgets the attempt; the parsed addresses stay for the next one.
    mutating func clear() {
        // What was parsed stays: the next attempt usually has the same addresses.
        let (local, remote) = (self.local, self.remote)
        self = ConnectionInfo()
        (self.local, self.remote) = (local, remote)
    }
}

/// An address that is parsed only when its text has changed: the next attempt usually has the same.
private struct CachedAddress {
    private var text: [CChar] = []
    private var isParsed = false
    private var address: IPAddress?

    mutating func update(_ text: UnsafePointer<CChar>?) {
        guard let text else {
            self = CachedAddress()
            return
        }
        let length = strlen(text) + 1
        if self.text.count == length, memcmp(self.text, text, length) == 0 { return }
        self.text = Array(UnsafeBufferPointer(start: text, count: length))
        self.isParsed = false
    }

    mutating func parsed() -> IPAddress? {
        if !self.isParsed {
            let bytes = self.text.dropLast().map { UInt8(bitPattern: $0) }
            self.address = IPAddress(String(decoding: bytes, as: UTF8.self))
            self.isParsed = true
        }
        return self.address
    }
}

/// How a try to connect ended that did not become a connection.
package struct FailedConnect: Sendable, Hashable {
    /// The address that was tried.
    package var address: IPAddress?
    /// Our address; nil if the kernel had chosen none.
    package var local: IPAddress?
    /// The error number (errno(3)); 0 if the try was still waiting for an answer.
    package var errorNumber: Int32 = 0
    /// The ICMP error that refused it, if one did.
    package var refusal: ICMPError?
    /// Whether the kernel refused in the very call that asked for the connection.
    package var isImmediate = false
    /// How often the first packet was repeated.
    package var retransmits = 0

    /// Whether the address had its time, and nothing came.
    var isSilence: Bool {
        self.refusal == nil && (self.errorNumber == ETIMEDOUT || (self.errorNumber == 0 && self.retransmits > 0))
    }

    /// How far the try came: from 1, not having left this host, to 5, having been answered by the other one.
    var rank: Int {
        if let refusal {
            if refusal.isFrom(self.address) { return 5 }
            return refusal.offender == nil || refusal.isFrom(self.local) ? 2 : 4
        }
        switch self.errorNumber {
        case ECONNREFUSED, ECONNRESET: return 5
        // One that was given up before its first packet was repeated had no time to be answered.
        case 0: return self.retransmits > 0 ? 3 : 2
        case ETIMEDOUT: return 3
        default: return self.isImmediate ? 1 : 2
        }
    }
}

extension SocketAddress {
    /// The local address of a socket; nil if it has none yet.
    static func localAddress(of descriptor: Int32) -> IPAddress? {
        self.name(of: descriptor).flatMap(self.address).flatMap { $0.isUnspecified ? nil : $0 }
    }

    /// The local port of a socket; nil if it has none.
    static func localPort(of descriptor: Int32) -> UInt16? {
        // The port stands at the same position in both families' addresses.
        self.name(of: descriptor).map { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }
}

extension AttemptSource {
    /// Has the connection of a new socket leave so; 0 or the error number (errno(3)).
    func apply(to descriptor: Int32) -> Int32 {
        if let name = self.interface, case let code = tg_bind_to_device(descriptor, name), code != 0 { return code }
        guard let address = self.address else { return 0 }
        var isOn: Int32 = 1
        // Otherwise a port would be used up for all targets; without it there are only fewer of them.
        _ = setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &isOn, socklen_t(4))
        return SocketAddress.bind(descriptor, to: address)
    }
}

/// Watches idle connections, and ends them in a way that libcurl notices.
enum IdleSocket {
    /// Whether bytes, an error or the end of the stream wait on a connection, which has to be silent while it is idle.
    static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Closes the connection of a socket; from now on reading from its descriptor gives the end of the stream.
    ///
    /// Before libcurl uses an idle connection again it peeks: 0 bytes are a closed connection, anything else a usable
    /// one, an error like ECONNRESET included. A socket that was only shut down gets that error when its peer sends
    /// more, so another socket takes its place, one whose peer is gone. The number stays open and is libcurl's.
    static func end(_ descriptor: Int32) {
        // What comes from now on is reset, if there is no descriptor for the other socket.
        shutdown(descriptor, Int32(SHUT_RDWR))
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return self.discardReceived(descriptor) }
        close(ends[1])
        // Of a failure nothing is left to do: the connection is shut down.
        _ = dup3(ends[0], descriptor, O_CLOEXEC)
        close(ends[0])
    }

    // With MSG_TRUNC TCP drops the bytes without copying them (tcp(7)); a receive buffer has fewer than this.
    private static func discardReceived(_ descriptor: Int32) {
        while recv(descriptor, nil, 64 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT)) > 0 {}
    }
}

/// The open sockets of a pool by their local ports: before a request, libcurl passes its local port, and its socket only
/// afterwards.
struct LocalPorts {
    private var sockets: [(descriptor: Int32, port: UInt16)] = []
    /// Those whose ports are known and no other socket's.
    private var byPort = IntegerMap<Int32>()
    private var hasUnnamed = false

    /// A socket was opened.
    mutating func opened(_ descriptor: Int32) {
        // libcurl may have closed another one with this number without a callback.
        self.closed(descriptor)
        self.sockets.append((descriptor, 0))
        self.hasUnnamed = true
    }

    /// A socket was closed.
    mutating func closed(_ descriptor: Int32) {
        guard let index = self.sockets.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        self.index(self.sockets.remove(at: index).port)
    }

    /// The socket with a local port; nil if it is not known, or several to different hosts share the port.
    mutating func socket(at port: UInt16) -> Int32? {
        if self.hasUnnamed { self.name() }
        return self.byPort[UInt64(port)]
    }

    // A socket has no port before its connect, and then keeps the one it has.
    private mutating func name() {
        self.hasUnnamed = false
        for index in self.sockets.indices where self.sockets[index].port == 0 {
            guard let port = SocketAddress.localPort(of: self.sockets[index].descriptor), port != 0 else {
                self.hasUnnamed = true
                continue
            }
            self.sockets[index].port = port
            self.index(port)
        }
    }

    private mutating func index(_ port: UInt16) {
        guard port != 0 else { return }
        let equals = self.sockets.filter { $0.port == port }
        self.byPort[UInt64(port)] = equals.count == 1 ? equals[0].descriptor : nil
    }
}
