internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// The connections and cached addresses of one network path; a new generation begins when the path changes.
///
/// It consists of a CURLM handle and the queues that its callbacks append to.
final class ConnectionPool {
    /// The generation, from 1.
    let generation: Int
    /// The number of transfers added and not yet removed.
    private(set) var running = 0
    /// When libcurl's timer is due; nil if it is not set.
    private(set) var deadline: MonotonicTime?
    var resolveCache = ResolveCache()
    /// True if the watchdog has ended a call whose attempts have not been collected yet.
    var wasCut = false
    /// Sockets of this pool that are not connected yet.
    var sockets = ConnectingSockets()
    /// Sockets of this pool by their local ports.
    var ports = LocalPorts()
    /// The last request for a timer; cleared by ``takeTimer(at:)``.
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
        // Before libcurl 8.8, the reset of one of several HTTP/2 streams on a connection can look like a good end.
        try CurlError.check(tg_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)), "CURLMOPT_PIPELINING")
        try CurlError.check(
            tg_multi_set_long(multi, CURLMOPT_MAXCONNECTS, CurlLimits.idleConnections), "CURLMOPT_MAXCONNECTS")
    }

    deinit { self.close() }

    /// Closes all connections; the callbacks run for each.
    func close() {
        self.deadline = nil
        if let multi = self.multi.take() { curl_multi_cleanup(multi) }
    }

    // MARK: Transfers

    /// Starts a transfer.
    func add(_ transfer: CurlTransfer) throws(CurlError) {
        // Set first, because libcurl may open a socket in the call.
        transfer.pool = self
        do throws(CurlError) {
            try self.insert(transfer)
        } catch {
            transfer.pool = nil
            throw error
        }
        self.running += 1
    }

    /// Ends a transfer in its current state; closes its connection unless the response was read completely.
    func remove(_ transfer: CurlTransfer) throws(CurlError) {
        guard transfer.pool === self else { return }
        transfer.pool = nil
        self.running -= 1
        try self.extract(transfer)
    }

    /// Restarts a transfer on another connection; none of its request has been sent yet.
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

    /// Passes a ready socket to libcurl.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) {
        var running: Int32 = 0
        try CurlError.check(
            curl_multi_socket_action(self.multi, descriptor, events, &running), "curl_multi_socket_action")
    }

    /// Tells libcurl that its timer is due.
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

    /// Converts libcurl's timer request to ``deadline``.
    func takeTimer(at now: MonotonicTime) {
        switch self.timer {
        case .unchanged: return
        case .none: self.deadline = nil
        // libcurl rounds down to milliseconds; an early timer would only wake the thread twice.
        case .after(let count): self.deadline = count == 0 ? now : now + .milliseconds(count + 1)
        }
        self.timer = .unchanged
    }

    // MARK: Sockets

    /// Records an opened socket.
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

    /// Records that libcurl closed a socket while connecting, without a callback.
    func abandoned(_ descriptor: Int32) {
        self.ports.closed(descriptor)
        self.note(.abandoned(descriptor))
    }

    /// Whether the watchdog has ended the current call of libcurl, or the part of it that serves a transfer.
    func isCallEnded(serving transfer: Int) -> Bool { self.record.isCallEnded(serving: transfer) }

    func note(_ change: SocketActions.Change) {
        self.actions.entries.append((self.generation, change))
    }
}

/// libcurl's changes to watched sockets, in order; applied outside of any call of libcurl.
///
/// Shared by all pools: a descriptor that one pool closes is often the next one that another opens.
final class SocketActions {
    /// A changed interest, an opened or a closed socket.
    enum Change {
        /// libcurl waits for these events of a socket (CURL_POLL_*).
        case watch(descriptor: Int32, poll: Int32)
        /// A socket we opened.
        case opened(Int32)
        /// A socket that we opened is closed; the kernel no longer watches it.
        case closed(Int32)
        /// libcurl closed a socket while connecting, which shows only later.
        ///
        /// Its number may already belong to another socket, so the generation is compared first.
        case abandoned(Int32)
    }

    var entries: [(generation: Int, change: Change)] = []
    /// Where this program's sockets are recorded; nil if nothing reads them.
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

/// A libcurl socket that is connecting.
struct ConnectAttempt {
    let transfer: CurlTransfer
    let attempt: AttemptID
    let address: IPAddress?
    /// When libcurl gives up on it.
    let deadline: MonotonicTime
    /// Distinguishes the socket from a later one with the same number.
    let cookie: UInt64
    /// Whether the kernel gives up before libcurl does (TCP_USER_TIMEOUT, tcp(7)).
    let hasShare: Bool
    /// Whether libcurl waits for it; if not, the kernel answered immediately.
    var isWaiting = false
    /// Its state shortly before its end.
    var lastState: FailedConnect?

    /// Whether its attempt is still the transfer's current one.
    var isWanted: Bool { self.transfer.request?.value.id == self.attempt }

    /// Whether a descriptor still refers to this socket.
    func isOpen(_ descriptor: Int32) -> Bool { self.cookie != 0 && tg_socket_cookie(descriptor) == self.cookie }
}

/// One pool's connecting sockets, with their state.
///
/// Only these receive ICMP errors in their error queue. While connecting, the kernel gives up at the first ICMP error
/// anyway (tcp_v4_err, tcp_v6_err). Reading the errors therefore fails no connect that would have succeeded, and
/// libcurl continues with the next address as usual. An established connection survives ICMP errors only while its
/// queue is disabled, so the queue is disabled before the first byte.
struct ConnectingSockets {
    private var attempts: [Int32: ConnectAttempt] = [:]

    /// Records a socket opened for a connect.
    mutating func opened(_ descriptor: Int32, _ attempt: ConnectAttempt) {
        self.attempts[descriptor] = attempt
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: true)
    }

    /// Records what libcurl waits for (CURL_POLL_*): only for writability until the socket is connected.
    mutating func interestChanged(_ descriptor: Int32, _ what: Int32) {
        guard !self.attempts.isEmpty else { return }
        switch what {
        case CURL_POLL_OUT: self.attempts[descriptor]?.isWaiting = true
        case CURL_POLL_IN, CURL_POLL_INOUT: self.connected(descriptor)
        default: break
        }
    }

    /// Records that the socket is connected.
    mutating func connected(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor) else { return }
        ConnectingSockets.receiveErrors(descriptor, attempt, isOn: false)
        if attempt.hasShare {
            var timeout = CurlLimits.userTimeout
            _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, socklen_t(4))
        }
        if attempt.isWanted { attempt.transfer.didConnect(to: attempt.address) }
    }

    /// Called before the socket is closed; if it never connected, reports the reason to its transfer.
    mutating func closing(_ descriptor: Int32) {
        guard !self.attempts.isEmpty, let attempt = self.attempts.removeValue(forKey: descriptor), attempt.isWanted
        else { return }
        attempt.transfer.connectFailed(ConnectingSockets.failure(of: descriptor, attempt))
    }

    /// Saves the state of sockets that libcurl is about to give up on.
    ///
    /// libcurl closes a socket that timed out without a callback.
    mutating func saveExpiring(at now: MonotonicTime) {
        for (descriptor, attempt) in self.attempts
        where attempt.deadline <= now + .milliseconds(5) && attempt.isOpen(descriptor) {
            self.attempts[descriptor]?.lastState = ConnectingSockets.failure(of: descriptor, attempt)
        }
    }

    /// Reports a transfer's connects that are still waiting, or that libcurl gave up on without a callback.
    func reportUnfinished(of transfer: CurlTransfer) {
        for (descriptor, attempt) in self.attempts where attempt.transfer === transfer && attempt.isWanted {
            let failure =
                attempt.isOpen(descriptor) ? ConnectingSockets.failure(of: descriptor, attempt) : attempt.lastState
            transfer.connectFailed(failure ?? FailedConnect(address: attempt.address))
        }
    }

    /// Drops a transfer's connects after libcurl has; returns the sockets that libcurl closed without a callback.
    mutating func forget(_ transfer: CurlTransfer) -> [Int32] {
        guard !self.attempts.isEmpty else { return [] }
        let over = self.attempts.filter { $0.value.transfer === transfer }.map(\.key)
        for descriptor in over { self.attempts[descriptor] = nil }
        return over
    }

    // Without an error queue there is less to report, but nothing fails.
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
            // While it waits, libcurl's error number belongs to another connect.
            failure.errorNumber = attempt.transfer.errorNumber
        }
        return failure
    }

    // TCP_SYN_SENT from <linux/tcp_states.h>.
    private static let synSent: UInt8 = 2
}
