internal import CCurl
internal import TidegateCore
internal import TidegateLoop

/// One running attempt: libcurl's handle and the state that its callbacks append to; reused for later attempts.
///
/// The engine's pool owns every transfer as long as the thread lives, so libcurl may hold unretained pointers.
final class CurlTransfer {
    /// The transfer's place in the engine's pool.
    let number: Int
    let easy: EasyHandle
    var options: TransferOptions

    /// The attempt; nil while the transfer is free.
    var request: Indirect<AttemptRequest>?
    /// The pool that it was added to; nil before and afterwards.
    var pool: ConnectionPool?

    // The state that the callbacks append to.
    var reports: TransferReports
    var timestamps: TransferTimestamps
    var connection = ConnectionInfo()
    var response = ResponseReceiver()
    var upload = BodyReader()
    var pause: PauseState = []
    /// Why we ended the transfer ourselves; the first reason stays.
    private(set) var abortReason: (failure: TaskFailure, text: String)?

    init(number: Int, queue: ReportQueue, clock: SystemClock) throws(CurlError) {
        self.easy = try EasyHandle()
        self.options = try TransferOptions()
        self.number = number
        self.reports = TransferReports(number: number, queue: queue)
        self.timestamps = TransferTimestamps(clock: clock)
    }

    /// Starts an attempt.
    func begin(_ request: Indirect<AttemptRequest>) {
        self.request = request
        self.timestamps.begin()
        self.reports.lastProgress = self.timestamps.started
    }

    /// Frees the transfer for the next attempt; libcurl must not be using it any more.
    func clear() {
        self.request = nil
        self.pool = nil
        self.options.clear()
        self.reports.clear()
        self.timestamps.clear()
        self.connection.clear()
        self.response.clear()
        self.upload.clear()
        self.pause = []
        self.abortReason = nil
        self.easy.clearErrorMessage()
    }

    /// Records a report; the engine delivers it after libcurl has returned.
    func note(_ kind: TransferReports.Kinds) { self.reports.add(kind) }

    /// Makes libcurl or the engine end the transfer.
    func abort(_ failure: TaskFailure, _ text: @autoclosure () -> String) {
        if self.abortReason == nil { self.abortReason = (failure, text()) }
    }

    /// Ends an attempt from outside of libcurl's callbacks, unless it has already been ended.
    func end(as failure: TaskFailure, _ text: String) {
        self.abort(failure, text)
        self.note(.aborted)
    }

    /// Makes the engine end the attempt: libcurl does not report failures inside our calls.
    func abortOutsideCurl() {
        self.end(as: .internal, "libcurl could not continue")
    }

    /// Opens the files to send; on failure the attempt is reported as finished.
    func openFiles(_ request: Indirect<AttemptRequest>) -> Bool {
        do throws(FileError) {
            if request.usesTLS {
                for file in [
                    request.value.tls.caFile, request.value.tls.crlFile, request.value.tls.clientCertificate,
                    request.value.tls.clientKey,
                ] {
                    if let file { try FileLocation.refusePipe(file) }
                }
            }
            try self.upload.open(request.value.body)
            return true
        } catch {
            self.end(as: error.failure, error.description)
            return false
        }
    }

    /// The counters now.
    func progress() -> AttemptProgress {
        let offset = self.response.offset(of: self.request)
        // Before the request starts, libcurl's counts are those of the handle's previous attempt.
        let isOnWire = self.connection.starts > 0
        // While we do not read, the server cannot send.
        let isOurPause = !self.pause.isDisjoint(with: .ours)
        return AttemptProgress(
            offset: offset, receivedWire: isOnWire ? self.easy.offset(CURLINFO_SIZE_DOWNLOAD_T) : 0,
            received: self.response.writer.received, expected: self.response.expectedLength(of: self.request),
            // libcurl's count includes the chunk framing, and libcurl has taken more than it has sent.
            sent: isOnWire ? min(self.easy.offset(CURLINFO_SIZE_UPLOAD_T), self.upload.position) : 0,
            lastActivity: isOurPause ? self.timestamps.clock.monotonic() : self.timestamps.lastActivity)
    }

    /// The error number of libcurl's last connect (errno(3)).
    var errorNumber: Int32 { Int32(truncatingIfNeeded: self.easy.long(CURLINFO_OS_ERRNO)) }

    /// Records a successful connect.
    func didConnect(to address: IPAddress?) {
        self.connection.hasConnected = true
        self.connection.connectedAddress = address
        self.timestamps.connected = self.timestamps.clock.monotonic()
    }

    /// Records a failed connect.
    func connectFailed(_ failure: FailedConnect) {
        self.connection.noteFailure(failure)
        self.note(.tryFailed)
    }

    /// The failed connect that came furthest so far.
    func furthestFailedConnect() -> FailedConnect? {
        self.pool?.sockets.reportUnfinished(of: self)
        return self.connection.bestFailure
    }

    /// Pauses reading and writing; false if the transfer has no connection to keep or libcurl refuses.
    func pauseByClient() -> Bool {
        guard self.connection.starts > 0, self.easy.long(CURLINFO_HTTP_VERSION) != Int(CURL_HTTP_VERSION_2_0)
        else { return false }
        self.pause.insert(.client)
        if self.applyPause() == CURLE_OK { return true }
        self.pause.remove(.client)
        return false
    }

    /// Ends one reason for a pause; does nothing if it does not apply.
    func resume(_ reason: PauseState) {
        guard !self.pause.isDisjoint(with: reason) else { return }
        self.pause.subtract(reason)
        // A transfer that libcurl has finished has no connection any more; its end is about to be reported.
        let code = self.applyPause()
        if code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT { self.abortOutsideCurl() }
    }

    /// Releases a body that waits for its disposition, into another sink if given.
    func proceed(into sink: BodySink?) {
        guard self.pause.contains(.disposition), var request = self.request else { return }
        if let sink {
            var changed = request.value
            changed.sink = sink
            request = Indirect(changed)
            self.request = request
        }
        if case .failed(let failure, let text)? = self.response.openSink(request) {
            return self.end(as: failure, text)
        }
        self.resume(.disposition)
    }

    /// How long the body must wait for its rate limit; nil if it may continue.
    ///
    /// libcurl's own limit lets a fast server through before it takes effect.
    func throttle(at now: MonotonicTime) -> Duration? {
        guard let limit = self.request?.value.bytesPerSecondLimit, let first = self.timestamps.firstByte else {
            return nil
        }
        let due = Duration.seconds(Double(self.response.writer.received) / Double(max(1, limit)))
        let ahead = due - (now - first)
        return ahead > .milliseconds(50) ? ahead : nil
    }

    /// Makes libcurl try the next address now.
    ///
    /// After a failed connect, libcurl 7.88 continues only at its next timer, which may be seconds away; ending a pause
    /// sets a timer that is due.
    func tryNextAddress() {
        guard !self.connection.isConnected, self.pause.isEmpty else { return }
        // libcurl refuses if that was the last address: the end of the attempt follows.
        guard curl_easy_pause(self.easy.raw, CURLPAUSE_RECV | CURLPAUSE_SEND) == CURLE_OK else { return }
        if self.applyPause() != CURLE_OK { self.abortOutsideCurl() }
    }

    // Applies our pause to libcurl; may deliver bytes to the sink immediately.
    private func applyPause() -> CURLcode {
        var mask: Int32 = 0
        if !self.pause.isDisjoint(with: .receiving) { mask |= CURLPAUSE_RECV }
        if !self.pause.isDisjoint(with: .sending) { mask |= CURLPAUSE_SEND }
        return curl_easy_pause(self.easy.raw, mask)
    }
}

/// The reasons for a pause.
struct PauseState: OptionSet {
    let rawValue: UInt8
    /// The client paused the attempt.
    static let client = PauseState(rawValue: 1)
    /// The sink is full.
    static let sink = PauseState(rawValue: 2)
    /// The rate limit applies, or the turn's share is used up.
    static let rate = PauseState(rawValue: 4)
    /// The client must decide where the body goes.
    static let disposition = PauseState(rawValue: 8)
    /// The next bytes of the request's body are not available yet.
    static let source = PauseState(rawValue: 16)

    /// The reasons that stop reading.
    static let receiving: PauseState = [.client, .sink, .rate, .disposition]
    /// The reasons that stop sending.
    static let sending: PauseState = [.client, .source]
    /// The reasons on our side, which keep the server from making progress.
    static let ours: PauseState = [.sink, .rate, .disposition, .source]
}

/// A transfer's pending reports, and the progress reported last.
struct TransferReports {
    /// Kinds of reports.
    struct Kinds: OptionSet {
        let rawValue: UInt8
        /// The request was started on the wire.
        static let wire = Kinds(rawValue: 1)
        /// The response's head is complete.
        static let head = Kinds(rawValue: 2)
        /// Bytes moved.
        static let moved = Kinds(rawValue: 4)
        /// The sink's descriptor accepts no data now.
        static let blocked = Kinds(rawValue: 8)
        /// The attempt must be ended although libcurl did not end it.
        static let aborted = Kinds(rawValue: 16)
        /// The rate limit stopped the body.
        static let throttled = Kinds(rawValue: 32)
        /// A progress report that was held back is now due.
        static let progressDue = Kinds(rawValue: 64)
        /// A connect failed, and there may be another address.
        static let tryFailed = Kinds(rawValue: 128)
    }

    let number: Int
    let queue: ReportQueue
    private(set) var pending: Kinds = []
    /// When progress was last reported; initially the attempt's start.
    var lastProgress = MonotonicTime(nanoseconds: 0)
    /// The number of bytes moved at that time.
    var reportedBytes: Int64 = 0
    /// Whether a timer is set for the next progress report; it also serves the transfer's next attempt.
    var hasProgressTimer = false

    mutating func add(_ kind: Kinds) {
        if self.pending.isEmpty { self.queue.numbers.append(self.number) }
        self.pending.formUnion(kind)
    }

    /// Takes the pending reports.
    mutating func take() -> Kinds { exchange(&self.pending, with: []) }

    mutating func clear() {
        self.pending = []
        self.reportedBytes = 0
    }
}

/// Numbers of the transfers with pending reports, in order.
final class ReportQueue {
    var numbers: [Int] = []
}

/// The start of each stage of an attempt.
struct TransferTimestamps {
    let clock: SystemClock
    private(set) var started = MonotonicTime(nanoseconds: 0)
    var socketOpened: MonotonicTime?
    var connected: MonotonicTime?
    var wireReached: MonotonicTime?
    var firstByte: MonotonicTime?
    /// When libcurl took the last bytes of the request's body.
    var bodyRead: MonotonicTime?
    /// When the last byte moved in either direction.
    var lastActivity = MonotonicTime(nanoseconds: 0)

    mutating func begin() {
        self.started = self.clock.monotonic()
        self.lastActivity = self.started
    }

    mutating func clear() { self = TransferTimestamps(clock: self.clock) }

    /// The duration of each phase, the last one up to `end`.
    ///
    /// `hasOpened` says whether a connection was made for the attempt.
    func phases(until end: MonotonicTime, of easy: borrowing EasyHandle, hasOpened: Bool) -> PhaseDurations {
        var phases = PhaseDurations()
        if hasOpened { self.addConnectPhases(to: &phases, easy) }
        if let reached = self.wireReached {
            phases.processing = self.firstByte.map { $0 - reached }
            phases.sending = self.bodyRead.map { min($0, self.firstByte ?? $0) - reached }
        }
        phases.transfer = self.firstByte.map { end - $0 }
        return phases
    }

    // Only libcurl knows the start of the handshake; its times count from its own start and include name lookup.
    private func addConnectPhases(to phases: inout PhaseDurations, _ easy: borrowing EasyHandle) {
        guard let opened = self.socketOpened else { return }
        let connected = easy.offset(CURLINFO_CONNECT_TIME_T)
        let secured = easy.offset(CURLINFO_APPCONNECT_TIME_T)
        if secured > connected, connected > 0 {
            phases.tls = .microseconds(secured - connected)
            phases.connect = .microseconds(max(0, connected - easy.offset(CURLINFO_NAMELOOKUP_TIME_T)))
        } else if let reached = self.wireReached {
            phases.connect = reached - opened
        } else if let connected = self.connected {
            phases.connect = connected - opened
        }
    }
}

/// Every transfer, as long as the thread lives; free ones are reused, the most recent first.
struct TransferTable {
    private var all: [CurlTransfer] = []
    private var free: [Int] = []
    private var byAttempt: [UInt64: CurlTransfer] = [:]

    subscript(number: Int) -> CurlTransfer? { self.all.indices.contains(number) ? self.all[number] : nil }

    subscript(id: AttemptID) -> CurlTransfer? { self.byAttempt[id.rawValue] }

    /// The transfers in use.
    var busy: [CurlTransfer] { self.all.filter { $0.request != nil } }

    /// A free transfer for an attempt.
    mutating func take(for id: AttemptID, queue: ReportQueue, clock: SystemClock) throws(CurlError) -> CurlTransfer {
        guard self.byAttempt[id.rawValue] == nil else {
            throw CurlError(
                operation: "start", code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), text: "the attempt is running")
        }
        let transfer: CurlTransfer
        if let number = self.free.popLast() {
            transfer = self.all[number]
        } else {
            transfer = try CurlTransfer(number: self.all.count, queue: queue, clock: clock)
            self.all.append(transfer)
        }
        self.byAttempt[id.rawValue] = transfer
        return transfer
    }

    /// Returns a transfer; libcurl must not be using it any more.
    mutating func release(_ transfer: CurlTransfer, of id: AttemptID) {
        guard self.byAttempt.removeValue(forKey: id.rawValue) != nil else { return }
        transfer.clear()
        self.free.append(transfer.number)
    }
}
