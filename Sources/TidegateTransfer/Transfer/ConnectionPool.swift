internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// The connections and cached addresses of one network path; a new generation begins when the path has changed.
///
/// A set of libcurl's transfers (CURLM), and what its callbacks append to.
final class ConnectionPool {
    /// Counted from 1.
    let generation: Int
    /// Transfers added and not yet removed.
    private(set) var running = 0
    /// When libcurl's timer is due; nil for never.
    private(set) var deadline: MonotonicTime?
    var resolveCache = ResolveCache()
    /// True if the watchdog has ended a call whose attempts have not been collected yet.
    var wasCut = false
    /// Sockets of this pool that are not connected yet.
    var sockets = ConnectingSockets()
    /// Sockets of this pool by their local ports.
    var ports = LocalPorts()
    /// The last request for a timer, until it is taken.
    fileprivate var timer = TimerRequest.unchanged
    private let actions: SocketActions
    /// The calls and sockets that the watchdog may end.
    private let record: CurlCallRecord
    /// Nil once the pool is closed.
    private var multi: UnsafeMutableRawPointer?

    fileprivate enum TimerRequest {
        case unchanged, none
        /// Counted from the moment it was requested.
        case after(milliseconds: Int)
    }

    init(generation: Int, actions: SocketActions, record: CurlCallRecord) throws(CurlError) {
        guard let multi = curl_multi_init() else {
            throw CurlError.outOfMemory("curl_multi_init", CURLM_OUT_OF_MEMORY.rawValue)
        }
        self.generation = generation
        self.actions = actions
        self.record = record
        self.multi = multi
        let context = Unmanaged.passUnretained(self).toOpaque()
        try CurlError.check(tg_multi_set_socket(multi, socketInterestChanged, context), "CURLMOPT_SOCKETFUNCTION")
        try CurlError.check(tg_multi_set_timer(multi, timerRequested, context), "CURLMOPT_TIMERFUNCTION")
        // Several HTTP/2 streams on one connection: before 8.8 a reset stream can look like a good end.
        try CurlError.check(tg_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)), "CURLMOPT_PIPELINING")
        try CurlError.check(
            tg_multi_set_long(multi, CURLMOPT_MAXCONNECTS, CurlLimits.idleConnections), "CURLMOPT_MAXCONNECTS")
    }

    deinit { self.close() }

    /// Closes all connections; the callbacks are called for each.
    func close() {
        self.deadline = nil
        if let multi = self.multi.take() { curl_multi_cleanup(multi) }
    }

    // MARK: Transfers

    /// Starts a transfer.
    func add(_ transfer: CurlTransfer) throws(CurlError) {
        // First, because libcurl may open a socket in the call.
        transfer.pool = self
        do throws(CurlError) {
            try self.insert(transfer)
        } catch {
            transfer.pool = nil
            throw error
        }
        self.running += 1
    }

    /// Ends a transfer in its current state; closes its connection unless the response was read to its end.
    func remove(_ transfer: CurlTransfer) throws(CurlError) {
        guard transfer.pool === self else { return }
        transfer.pool = nil
        self.running -= 1
        try self.extract(transfer)
    }

    /// Runs a transfer again on another connection; nothing of it has been sent yet.
    func restart(_ transfer: CurlTransfer) throws(CurlError) {
        transfer.connection.isGivenUp = false
        transfer.easy.clearErrorMessage()
        try self.extract(transfer)
        try self.insert(transfer)
    }

    private func insert(_ transfer: CurlTransfer) throws(CurlError) {
        try CurlError.check(curl_multi_add_handle(self.multi, transfer.easy.raw), "curl_multi_add_handle")
    }

    private func extract(_ transfer: CurlTransfer) throws(CurlError) {
        try CurlError.check(curl_multi_remove_handle(self.multi, transfer.easy.raw), "curl_multi_remove_handle")
    }

    /// A socket is ready.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) {
        var running: Int32 = 0
        try CurlError.check(
            curl_multi_socket_action(self.multi, descriptor, events, &running), "curl_multi_socket_action")
    }

    /// libcurl's timer is due.
    func timeOut() throws(CurlError) {
        self.deadline = nil
        // CURL_SOCKET_TIMEOUT is a cast expression that Swift does not import.
        try self.act(on: -1, 0)
    }

    /// The next finished transfer: its number and libcurl's result.
    func nextDone() -> (number: Int, code: CURLcode)? {
        var code = CURLE_OK
        guard let multi = self.multi, let easy = tg_multi_next_done(multi, &code) else { return nil }
        var number: UnsafeMutableRawPointer?
        guard tg_easy_get_private(easy, &number) == CURLE_OK else { return nil }
        return (Int(bitPattern: number) - 1, code)
    }

    /// Takes libcurl's request for a timer over into ``deadline``.
    func takeTimer(at now: MonotonicTime) {
        switch self.timer {
        case .unchanged: return
        case .none: self.deadline = nil
        // libcurl rounds down to milliseconds; too early would only mean to wake twice.
        case .after(let count): self.deadline = count == 0 ? now : now + .milliseconds(count + 1)
        }
        self.timer = .unchanged
    }

    // MARK: Sockets

    /// A socket was opened.
    func opened(_ descriptor: Int32) {
        self.actions.own?.insert(tg_socket_cookie(descriptor))
        self.record.opened(descriptor, generation: self.generation)
        self.ports.opened(descriptor)
        self.note(.opened(descriptor))
    }

    /// Closes a socket for libcurl.
    func close(_ descriptor: Int32) -> Int32 {
        self.sockets.closing(descriptor)
        self.ports.closed(descriptor)
        self.note(.closed(descriptor))
        return self.record.close(descriptor)
    }

    /// A socket was closed while connecting, without a callback.
    func abandoned(_ descriptor: Int32) {
        self.ports.closed(descriptor)
        self.note(.abandoned(descriptor))
    }

    /// Whether the watchdog has ended the call of libcurl that is under way.
    var isCallEnded: Bool { self.record.isCallEnded }

    func note(_ change: SocketActions.Change) {
        self.actions.entries.append((self.generation, change))
    }
}

/// What libcurl wants watched, in the order it said so; applied when no call of libcurl's is under way.
///
/// One for all pools: a descriptor that one of them closes is often the next one that another opens.
final class SocketActions {
    /// The interest in a socket, or its beginning or end.
    enum Change {
        /// libcurl wants these events of a socket (CURL_POLL_*).
        case watch(descriptor: Int32, poll: Int32)
        /// A socket we opened.
        case opened(Int32)
        /// A socket we opened is closed; the kernel has forgotten it, too.
        case closed(Int32)
        /// A socket that libcurl closed while connecting, reported only later.
        ///
        /// Its number may already belong to another socket, so the generation is compared first.
        case abandoned(Int32)
    }

    var entries: [(generation: Int, change: Change)] = []
    /// Where the sockets of this program are noted; nil if nothing reads them.
    let own: OwnSockets?

    init(own: OwnSockets? = nil) { self.own = own }
}

func socketInterestChanged(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    withObject(ConnectionPool.self, at: context, else: 0) {
        $0.sockets.interestChanged(descriptor, what)
        $0.note(.watch(descriptor: descriptor, poll: what))
        return 0
    }
}

func timerRequested(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    withObject(ConnectionPool.self, at: context, else: 0) {
        $0.timer = milliseconds < 0 ? .none : .after(milliseconds: milliseconds)
        return 0
    }
}

/// A socket of libcurl's that is being connected.
struct ConnectAttempt {
    let transfer: CurlTransfer
    let attempt: AttemptID
    let address: IPAddress?
    /// When libcurl gives it up.
    let deadline: MonotonicTime
    /// Distinguishes the socket from a later one with the same number.
    let cookie: UInt64
    /// Whether the kernel gives it up before libcurl does (TCP_USER_TIMEOUT, tcp(7)).
    let hasShare: Bool
    /// Whether libcurl waits for it; if not, the kernel's answer came at once.
    var isWaiting = false
    /// Its state shortly before its end.
    var lastState: FailedConnect?

    /// Whether its attempt is still the transfer's.
    var isWanted: Bool { self.transfer.request?.value.id == self.attempt }

    /// Whether a descriptor is still this socket.
    func isOpen(_ descriptor: Int32) -> Bool { self.cookie != 0 && tg_socket_cookie(descriptor) == self.cookie }
}

/// One pool's sockets that are being connected, and what is known of each.
///
/// Only these have their ICMP errors put into their error queue. While a connection is being made the kernel gives up
/// at the first of them anyway (tcp_v4_err, tcp_v6_err), so that reading them fails no connect that would have
/// succeeded without; libcurl goes on with the next address as ever. An established connection survives ICMP errors
/// unless its queue is enabled: so that is disabled before its first byte.
struct ConnectingSockets {
    private var attempts: [Int32: ConnectAttempt] = [:]

    /// A socket was opened to be connected.
    mutating func opened(_ descriptor: Int32, _ attempt: ConnectAttempt) {
        self.attempts[descriptor] = attempt
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: true)
    }

    /// libcurl says what it waits for (CURL_POLL_*): only room to write until the socket is connected.
    mutating func interestChanged(_ descriptor: Int32, _ what: Int32) {
        guard !self.attempts.isEmpty else { return }
        switch what {
        case CURL_POLL_OUT: self.attempts[descriptor]?.isWaiting = true
        case CURL_POLL_IN, CURL_POLL_INOUT: self.connected(descriptor)
        default: break
        }
    }

    /// The socket is connected.
    mutating func connected(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor) else { return }
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: false)
        if attempt.hasShare {
            var timeout = CurlLimits.userTimeout
            _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, socklen_t(4))
        }
        if attempt.isWanted { attempt.transfer.didConnect(to: attempt.address) }
    }

    /// The socket is about to be closed; if it never was connected, its transfer is given the reason.
    mutating func closing(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor), attempt.isWanted
        else { return }
        attempt.transfer.connectFailed(ConnectingSockets.failure(of: descriptor, attempt))
    }

    /// Keeps the state of sockets that libcurl is about to give up because their time is over.
    ///
    /// libcurl closes a socket that has waited in vain without calling back.
    mutating func saveExpiring(at now: MonotonicTime) {
        for (descriptor, attempt) in self.attempts
        where attempt.deadline <= now + .milliseconds(5) && attempt.isOpen(descriptor) {
            self.attempts[descriptor]?.lastState = ConnectingSockets.failure(of: descriptor, attempt)
        }
    }

    /// Reports those of a transfer's tries that are still waiting, or were given up without a callback.
    func reportUnfinished(of transfer: CurlTransfer) {
        for (descriptor, attempt) in self.attempts where attempt.transfer === transfer && attempt.isWanted {
            let failure =
                attempt.isOpen(descriptor) ? ConnectingSockets.failure(of: descriptor, attempt) : attempt.lastState
            transfer.connectFailed(failure ?? FailedConnect(address: attempt.address))
        }
    }

    /// Forgets a transfer's tries once libcurl has; returns the sockets that were closed without a callback.
    mutating func forget(_ transfer: CurlTransfer) -> [Int32] {
        guard !self.attempts.isEmpty else { return [] }
        let over = self.attempts.filter { $0.value.transfer === transfer }.map(\.key)
        for descriptor in over { self.attempts[descriptor] = nil }
        return over
    }

    // If the kernel has no queue for it there is less to report, and nothing else is wrong.
    private static func receiveErrors(_ descriptor: Int32, _ attempt: ConnectAttempt, isOn: Bool) {
        guard let family = attempt.address?.family else { return }
        _ = tg_receive_errors(descriptor, family == .ipv4 ? AF_INET : AF_INET6, isOn ? 1 : 0)
    }

    private static func failure(of descriptor: Int32, _ attempt: ConnectAttempt) -> FailedConnect {
        var failure = FailedConnect(
            address: attempt.address, local: SocketAddress.localAddress(of: descriptor), isImmediate: !attempt.isWaiting
        )
        var info: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)
        let isKnown = withUnsafeMutableBytes(of: &info) {
            tg_tcp_info(descriptor, $0.assumingMemoryBound(to: UInt8.self).baseAddress) == 0
        }
        if isKnown { failure.retransmits = Int(info.2) }
        if let message = ErrorQueue.drain(descriptor) {
            failure.refusal = message.refusal
            failure.errorNumber = message.errorNumber
        } else if !isKnown || info.0 != self.synSent {
            // While it waits, libcurl's error number is that of another try.
            failure.errorNumber = attempt.transfer.errorNumber
        }
        return failure
    }

    // TCP_SYN_SENT of <linux/tcp_states.h>.
    private static let synSent: UInt8 = 2
}
