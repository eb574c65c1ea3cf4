internal import CCurl
internal import CLinux
internal import TidegateCore

/// The connections and cached addresses of one network path; a new generation begins when the path has changed.
///
/// A set of libcurl's transfers (CURLM), and what its callbacks append to. Every method but ``nextDone()`` wants it open.
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
            throw CurlError(operation: "curl_multi_init", code: CURLM_OUT_OF_MEMORY.rawValue, text: "out of memory")
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

    /// Ends a transfer as it is; closes its connection unless the response was read to its end.
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
        self.record.sockets.opened(descriptor, generation: self.generation)
        self.ports.opened(descriptor)
        self.note(.opened(descriptor))
    }

    /// Closes a socket for libcurl.
    func close(_ descriptor: Int32) -> Int32 {
        self.sockets.closing(descriptor)
        self.ports.closed(descriptor)
        self.note(.closed(descriptor))
        return self.record.sockets.close(descriptor)
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
    /// Where the sockets of this program are noted; nil if nobody asks for them.
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

/// A line that an attempt carries to libcurl's cache of addresses.
typealias ResolveLease = (origin: Origin, number: Int)

/// Which addresses libcurl's cache has (CURLOPT_RESOLVE).
struct ResolveCache {
    private struct Entry {
        let addresses: [IPAddress]
        let created: MonotonicTime
        let number: Int
        /// Whether libcurl has read a line with these addresses: it does so only when it begins an attempt.
        var isLoaded = false
    }

    private var entries: [Origin: Entry] = [:]
    private var lastNumber = 0

    // libcurl's entries end after 60 s; they are renewed after 30.
    private static let lifetime = Duration.seconds(30)

    /// The CURLOPT_RESOLVE line that an attempt needs, with the lease to confirm once the attempt has begun; nil if
    /// libcurl's cache has these addresses already.
    mutating func line(
        for origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime
    ) -> (line: String, lease: ResolveLease)? {
        guard !addresses.isEmpty, origin.target.address == nil, let port = origin.target.port else { return nil }
        let entry = self.current(origin, addresses, at: now)
        guard !entry.isLoaded else { return nil }
        let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        // The + lets the entry end.
        return ("+\(origin.target.host):\(port):\(list)", (origin, entry.number))
    }

    private mutating func current(_ origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime) -> Entry {
        if let entry = self.entries[origin], entry.addresses == addresses, now - entry.created < ResolveCache.lifetime {
            return entry
        }
        if self.entries.count >= 512 {
            self.entries = self.entries.filter { now - $0.value.created < ResolveCache.lifetime }
        }
        self.lastNumber += 1
        let entry = Entry(addresses: addresses, created: now, number: self.lastNumber)
        self.entries[origin] = entry
        return entry
    }

    /// The attempt has begun: libcurl has read its line, and keeps it unless another one came since.
    mutating func confirm(_ lease: ResolveLease) {
        if self.entries[lease.origin]?.number == lease.number { self.entries[lease.origin]?.isLoaded = true }
    }
}
