internal import CNetlink
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// A netlink socket of libnl; closed when it goes out of scope.
struct NetlinkSocket: ~Copyable {
    /// The result of one call of ``receive(_:)``.
    enum Received: Equatable {
        /// A datagram was read and passed on.
        case datagram
        /// A datagram that did not come from the kernel; it was discarded.
        case foreign
        /// There was nothing to read, or the time limit passed.
        case nothing
        /// The kernel dropped messages before this point; what is left in the queue is older.
        case overrun
        /// A datagram was longer than the buffer.
        case truncated
        /// The socket no longer works.
        case failed(NetlinkError)
    }

    // Kernels build dump datagrams of up to 32 KiB; this is twice that.
    private static let datagramCapacity = 65_536

    private let raw: OpaquePointer
    private let buffer: UnsafeMutableRawBufferPointer
    private let limit: @Sendable (NetlinkOptions.SocketKind) -> Int
    private let edit: NetlinkOptions.Edit?
    private let kind: NetlinkOptions.SocketKind

    private init(_ kind: NetlinkOptions.SocketKind, _ options: NetlinkOptions) throws(NetlinkError) {
        guard let raw = nl_socket_alloc() else { throw NetlinkError(operation: "nl_socket_alloc", errno: ENOMEM) }
        self.raw = raw
        self.buffer = .allocate(byteCount: NetlinkSocket.datagramCapacity, alignment: 16)
        self.limit = options.datagramLimit
        self.edit = options.edit
        self.kind = kind
    }

    deinit {
        nl_socket_free(self.raw)
        self.buffer.deallocate()
    }

    /// A connected socket of a protocol (netlink(7)) whose receive buffer holds `bufferBytes` if the kernel allows it.
    static func connected(
        _ kind: NetlinkOptions.SocketKind, _ options: NetlinkOptions, bufferBytes: Int,
        protocol number: Int32 = NETLINK_ROUTE
    ) throws(NetlinkError) -> NetlinkSocket {
        if let refusal = options.refusal(kind) { throw refusal }
        let socket = try NetlinkSocket(kind, options)
        try check(nl_connect(socket.raw, number), "opening a netlink socket")
        options.onOpen(kind, socket.descriptor)
        // After nl_connect, which sets a smaller buffer than the kernel's own default.
        socket.setReceiveBuffer(bufferBytes)
        return socket
    }

    var descriptor: Int32 { nl_socket_get_fd(self.raw) }

    /// Joins a multicast group; throws if the kernel or a sandbox refuses it.
    func join(_ group: UInt32) throws(NetlinkError) {
        try check(nl_socket_add_membership(self.raw, Int32(group)), "joining netlink group \(group)")
    }

    func leave(_ group: UInt32) throws(NetlinkError) {
        try check(nl_socket_drop_membership(self.raw, Int32(group)), "leaving netlink group \(group)")
    }

    func setNonblocking() throws(NetlinkError) {
        try check(nl_socket_set_nonblocking(self.raw), "nl_socket_set_nonblocking")
    }

    /// Requests exact errors and strict filtering; kernels that lack an option work without it.
    func setQueryOptions() {
        for option in [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK] {
            _ = self.set(SOL_NETLINK, option, 1)
        }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        _ = setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Requests a receive buffer; the effective size is in ``receiveBufferBytes``.
    func setReceiveBuffer(_ bytes: Int) {
        let size = Int32(clamping: bytes)
        guard !self.set(SOL_SOCKET, SO_RCVBUFFORCE, size) else { return }
        _ = self.set(SOL_SOCKET, SO_RCVBUF, size)
    }

    /// Attaches a classic BPF program (SO_ATTACH_FILTER in socket(7)); an empty one detaches the present one.
    ///
    /// Errors are ignored: without a filter everything is read, which only takes longer.
    func setFilter(_ program: [sock_filter]) {
        guard !program.isEmpty else {
            _ = self.set(SOL_SOCKET, SO_DETACH_FILTER, 0)
            return
        }
        var program = program
        program.withUnsafeMutableBufferPointer { instructions in
            var whole = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
            _ = setsockopt(
                self.descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &whole, socklen_t(MemoryLayout<sock_fprog>.size))
        }
    }

    /// The receive buffer's effective size: what the kernel doubled and perhaps capped.
    var receiveBufferBytes: Int {
        var size: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 else { return 0 }
        return Int(size)
    }

    /// Suppresses overrun errors, after which the kernel would drop everything until the queue is empty
    /// (NETLINK_NO_ENOBUFS in netlink(7)).
    func ignoreOverruns() throws(NetlinkError) {
        guard self.set(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1) else {
            throw NetlinkError(operation: "NETLINK_NO_ENOBUFS", errno: errno)
        }
    }

    /// The number of messages that the kernel dropped for this socket (SO_MEMINFO, the ninth number); 0 if unavailable.
    var dropCount: UInt32 {
        var numbers = [UInt32](repeating: 0, count: 9)
        var length = socklen_t(numbers.count * 4)
        // SO_MEMINFO, which Glibc does not define.
        guard getsockopt(self.descriptor, SOL_SOCKET, 55, &numbers, &length) == 0, length >= 36 else { return 0 }
        return numbers[8]
    }

    /// Sends a series of encoded requests.
    func send(_ requests: UnsafeRawBufferPointer) throws(NetlinkError) {
        let sent = nl_sendto(self.raw, UnsafeMutableRawPointer(mutating: requests.baseAddress), requests.count)
        try check(sent, "sending a netlink request")
    }

    /// Reads one datagram and lends it to `body`.
    ///
    /// Does not use nl_recv, which allocates a buffer for every datagram and hides the error number.
    func receive(_ body: (UnsafeRawBufferPointer) -> Void) -> Received {
        var sender = sockaddr_nl()
        let capacity = min(self.buffer.count, self.limit(self.kind))
        var count = self.read(capacity, &sender)
        while count < 0, errno == EINTR { count = self.read(capacity, &sender) }
        guard count >= 0 else { return NetlinkSocket.outcome(of: errno) }
        // Any process may send to this port; only the kernel has port 0.
        guard sender.nl_pid == 0 else { return .foreign }
        guard count > 0 else { return .failed(NetlinkError(operation: "reading a netlink socket", text: "it ended")) }
        guard count <= capacity else { return .truncated }
        let datagram = UnsafeRawBufferPointer(rebasing: self.buffer[..<count])
        guard let edit = self.edit else {
            body(datagram)
            return .datagram
        }
        edit(self.kind, Array(datagram)).withUnsafeBytes(body)
        return .datagram
    }

    // MSG_TRUNC makes recvfrom(2) return the datagram's length even if the buffer is shorter.
    private func read(_ capacity: Int, _ sender: inout sockaddr_nl) -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        return withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(
                    self.descriptor, self.buffer.baseAddress, capacity, Int32(MSG_TRUNC), $0, &length)
            }
        }
    }

    private static func outcome(of code: Int32) -> Received {
        switch code {
        case EAGAIN: .nothing
        case ENOBUFS, ENOMEM: .overrun
        default: .failed(NetlinkError(operation: "reading a netlink socket", errno: code))
        }
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        var value = value
        return setsockopt(self.descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
}

private func check(_ code: Int32, _ operation: String) throws(NetlinkError) {
    guard code >= 0 else { throw NetlinkError(operation: operation, libnl: code) }
}

/// How to watch the kernel, with hooks that tests use in place of it.
package struct NetlinkOptions: Sendable {
    /// The purpose of a socket.
    package enum SocketKind: Sendable, Hashable {
        /// Receives multicast, sends no requests.
        case monitor
        /// Sends requests, receives no multicast.
        case query
        /// Receives changes of neighbours while any are watched.
        case neighbours
        /// Receives messages about closed sockets of programs.
        case socketEndings
        /// Lists the sockets of programs.
        case socketDumps
        /// Receives the announcements of other Tidegate processes.
        case announcements
    }

    /// Replaces a datagram between the kernel and the decoder.
    package typealias Edit = @Sendable (SocketKind, [UInt8]) -> [UInt8]

    /// Whether to read everything once and join no multicast group.
    package var isOnce = false
    /// The receive buffer to request, in bytes; the kernel doubles it.
    package var receiveBufferBytes = 8 << 20
    /// Runs on the thread before the first socket is opened; a test enters its namespace here.
    package var onThreadStart: @Sendable () -> Void = {}
    /// Called before a socket is opened; an error simulates a kernel or sandbox that refuses it.
    package var refusal: @Sendable (SocketKind) -> NetlinkError? = { _ in nil }
    /// The file of another network namespace to watch (`/run/netns/NAME`); left once the name is deleted.
    package var namespace: String?
    /// Called with the descriptor of each socket that was opened; a test may break it.
    package var onOpen: @Sendable (SocketKind, Int32) -> Void = { _, _ in }
    /// Replaces datagrams from the kernel.
    package var edit: Edit?
    /// Longer datagrams, in bytes, count as too long for the buffer; called before each one.
    package var datagramLimit: @Sendable (SocketKind) -> Int = { _ in .max }
    /// How long the machine has been suspended since boot.
    package var suspended: @Sendable () -> Duration = SystemClock.suspended
}

extension NetlinkOptions {
    /// Creates the default options.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) { self.onThreadStart = onThreadStart }
}

/// A failed netlink operation.
package struct NetlinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The failed operation, such as `opening a route netlink socket`.
    package let operation: String
    /// The error's description (nl_geterror(3) or errno(3)).
    package let text: String
    /// The error number (errno(3)); 0 if it is not known.
    package let code: Int32

    package init(operation: String, text: String, code: Int32 = 0) {
        self.operation = operation
        self.text = text
        self.code = code
    }

    /// From a negative libnl code.
    init(operation: String, libnl code: Int32) {
        self.init(operation: operation, text: nl_geterror(code).map { String(cString: $0) } ?? "error \(code)")
    }

    /// From an error number (errno(3)).
    package init(operation: String, errno code: Int32) {
        self.init(operation: operation, text: SystemError.message(code), code: code)
    }

    package var description: String { "\(self.operation): \(self.text)" }
}
