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

    // Closes idle connections through the callbacks: their context outlives the handle.
    deinit { curl_multi_cleanup(self.raw) }

    /// Sets the callbacks and their context, which the caller keeps alive for longer than this handle.
    func configure(
        onSocket: curl_socket_callback, onTimer: curl_multi_timer_callback, context: UnsafeMutableRawPointer
    ) throws(CurlError) {
        try CurlError.check(tg_multi_set_socket(self.raw, onSocket, context), "CURLMOPT_SOCKETFUNCTION")
        try CurlError.check(tg_multi_set_timer(self.raw, onTimer, context), "CURLMOPT_TIMERFUNCTION")
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

    /// A socket is ready.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) {
        var running: Int32 = 0
        try CurlError.check(
            curl_multi_socket_action(self.raw, descriptor, events, &running), "curl_multi_socket_action")
    }

    /// libcurl's timer is due.
    func timeOut() throws(CurlError) {
        // CURL_SOCKET_TIMEOUT is a cast expression that Swift does not import.
        try self.act(on: -1, 0)
    }

    /// The next finished transfer: its number and libcurl's result.
    func nextDone() -> (number: Int, code: CURLcode)? {
        var code = CURLE_OK
        guard let easy = tg_multi_next_done(self.raw, &code) else { return nil }
        var number: UnsafeMutableRawPointer?
        guard tg_easy_get_private(easy, &number) == CURLE_OK else { return nil }
        return (Int(bitPattern: number) - 1, code)
    }
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
