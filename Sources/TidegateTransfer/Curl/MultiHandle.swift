internal import CCurl

/// A set of transfers with its connections and cached addresses (CURLM).
struct MultiHandle: ~Copyable {
    private let raw: UnsafeMutableRawPointer

    init() throws(CurlError) {
        guard let raw = curl_multi_init() else {
            throw CurlError(operation: "curl_multi_init", code: CURLM_OUT_OF_MEMORY.rawValue, text: "out of memory")
        }
        self.raw = raw
    }

    // Closes idle connections, which is told to the log: the log outlives the handle.
    deinit { curl_multi_cleanup(self.raw) }

    /// Sends libcurl's wishes to `log`, which the caller keeps alive for longer than this handle.
    func configure(telling log: CurlCallbackContext) throws(CurlError) {
        let context = Unmanaged.passUnretained(log).toOpaque()
        try CurlError.check(tg_multi_set_socket(self.raw, socketWanted, context), "CURLMOPT_SOCKETFUNCTION")
        try CurlError.check(tg_multi_set_timer(self.raw, timerWanted, context), "CURLMOPT_TIMERFUNCTION")
        // Several HTTP/2 streams on one connection: before 8.8 a reset stream can look like a good end.
        try CurlError.check(
            tg_multi_set_long(self.raw, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)), "CURLMOPT_PIPELINING")
        try CurlError.check(
            tg_multi_set_long(self.raw, CURLMOPT_MAXCONNECTS, CurlLimits.idleConnections), "CURLMOPT_MAXCONNECTS")
    }

    func add(_ easy: borrowing EasyHandle) throws(CurlError) {
        try CurlError.check(curl_multi_add_handle(self.raw, easy.raw), "curl_multi_add_handle")
    }

    func remove(_ easy: borrowing EasyHandle) throws(CurlError) {
        try CurlError.check(curl_multi_remove_handle(self.raw, easy.raw), "curl_multi_remove_handle")
    }

    /// Tells libcurl that a socket is ready.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) {
        var running: Int32 = 0
        try CurlError.check(
            curl_multi_socket_action(self.raw, descriptor, events, &running), "curl_multi_socket_action")
    }

    /// Tells libcurl that its timer is due.
    func timeOut() throws(CurlError) {
        // CURL_SOCKET_TIMEOUT is a cast expression that Swift does not import.
        try self.act(on: -1, 0)
    }

    /// The next finished transfer: its slot's number and libcurl's result.
    func nextDone() -> (slot: Int, code: CURLcode)? {
        var code = CURLE_OK
        guard let easy = tg_multi_next_done(self.raw, &code) else { return nil }
        var number: UnsafeMutableRawPointer?
        guard tg_easy_get_private(easy, &number) == CURLE_OK else { return nil }
        return (Int(bitPattern: number) - 1, code)
    }
}

/// What one epoch's libcurl wants.
final class CurlCallbackContext {
    private let epoch: Int
    private let journal: SocketActions

    init(epoch: Int, journal: SocketActions) {
        self.epoch = epoch
        self.journal = journal
    }

    /// A wish about a socket, or its beginning or end.
    enum Change {
        /// A `CURL_POLL_*` value for a socket.
        case want(Int32, Int32)
        /// A socket we opened.
        case opened(Int32)
        /// A socket we opened is closed; the kernel has forgotten it, too.
        case closed(Int32)
        /// A socket we opened, and that never became a connection, is closed; its number may be another one's by now.
        case lost(Int32)
    }

    /// Sockets of this epoch that are not connected yet.
    var dials = DialSockets()

    func note(_ change: Change) { self.journal.entries.append(SocketActions.Entry(epoch: self.epoch, change: change)) }

    /// The last wish of libcurl's timer: milliseconds from when it was said, or nil for none.
    ///
    /// Taken by the engine.
    var timer: TimerRequest = .unchanged

    enum TimerRequest {
        case unchanged, none
        case after(milliseconds: Int)
    }
}

/// What libcurl wants watched, in the order it said so; applied when no call of libcurl's is under way.
///
/// One for all epochs: a descriptor that one of them closes is often the next one that another opens.
final class SocketActions {
    struct Entry {
        let epoch: Int
        let change: CurlCallbackContext.Change
    }

    var entries: [Entry] = []
}

private func socketWanted(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<CurlCallbackContext>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.dials.wanted(descriptor, what)
        $0.note(.want(descriptor, what))
    }
    return 0
}

private func timerWanted(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<CurlCallbackContext>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.timer = milliseconds < 0 ? .none : .after(milliseconds: milliseconds)
    }
    return 0
}

/// Numbers that libcurl is given.
enum CurlLimits {
    /// Connections kept open for reuse.
    static let idleConnections = 256
    /// Receive buffer in bytes; more gains little, less costs system calls.
    ///
    /// libcurl frees it after every transfer, and from 64 KiB on that makes the C library tidy its whole heap.
    static let receiveBuffer = 60 * 1024
    /// The same for bodies that stay in memory: they are small, and so is the cost of this one.
    static let smallReceiveBuffer = 16 * 1024
    static let sendBuffer = 64 * 1024
    /// A body larger than this many bytes waits for a go-ahead (Expect: 100-continue).
    static let expectContinue: Int64 = 1024 * 1024
    /// Seconds after which an idle connection is not trusted any more.
    static let connectionAge = 60
    static let keepAliveIdle = 30
    static let keepAliveInterval = 10
    /// Milliseconds until unacknowledged bytes end a connection (TCP_USER_TIMEOUT, tcp(7)).
    static let userTimeout: Int32 = 10_000
}
