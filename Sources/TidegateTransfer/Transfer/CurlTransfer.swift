internal import CCurl
internal import TidegateCore
internal import TidegateLoop

/// One running attempt: libcurl's handle and what its callbacks append to; used again for the next attempt.
///
/// The engine's pool owns every transfer for as long as the thread lives, so that libcurl may hold unretained pointers.
final class CurlTransfer {
    /// The transfer's place in the engine's pool.
    let number: Int
    let easy: EasyHandle
    var options: TransferOptions

    /// The attempt; nil while the transfer is free.
    var request: Indirect<AttemptRequest>?
    /// The connections it was added to; nil before and afterwards.
    var pool: ConnectionPool?

    // What the callbacks append to.
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

    /// Takes an attempt.
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

    /// Records something to report; the engine reports it after libcurl has returned.
    func note(_ kind: TransferReports.Kinds) { self.reports.add(kind) }

    /// Has libcurl, or the engine, end the transfer.
    func abort(_ failure: TaskFailure, _ text: @autoclosure () -> String) {
        if self.abortReason == nil { self.abortReason = (failure, text()) }
    }

    /// Ends an attempt outside of libcurl's callbacks, unless something has ended it before.
    func end(as failure: TaskFailure, _ text: String) {
        self.abort(failure, text)
        self.note(.aborted)
    }

    /// Has the engine end the attempt: libcurl does not report what failed inside a call of ours.
    func abortOutsideCurl() {
        self.end(as: .internal, "libcurl could not go on")
    }

    /// Opens what is to be sent; if that fails, the attempt will be reported as over.
    func openFiles(_ request: Indirect<AttemptRequest>) -> Bool {
        do throws(FileError) {
            if request.usesTLS {
                for file in [
                    request.value.tls.caFile, request.value.tls.clientCertificate, request.value.tls.clientKey,
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
        // Before it reaches the wire, libcurl's counts are those of the handle's last attempt.
        let isOnWire = self.connection.starts > 0
        // While we do not read, the server has no chance to send.
        let isOurPause = !self.pause.isDisjoint(with: .ours)
        return AttemptProgress(
            offset: offset, receivedWire: isOnWire ? self.easy.offset(CURLINFO_SIZE_DOWNLOAD_T) : 0,
            received: self.response.writer.received, expected: self.response.expectedLength(of: self.request),
            // libcurl counts what frames the chunks, too, and has taken more than it has sent.
            sent: isOnWire ? min(self.easy.offset(CURLINFO_SIZE_UPLOAD_T), self.upload.position) : 0,
            lastActivity: isOurPause ? self.timestamps.clock.monotonic() : self.timestamps.lastActivity)
    }

    /// libcurl's error number of the last try to connect (errno(3)).
    var errorNumber: Int32 { Int32(truncatingIfNeeded: self.easy.long(CURLINFO_OS_ERRNO)) }

    /// A try to connect became a connection.
    func didConnect(to address: IPAddress?) {
        self.connection.hasConnected = true
        self.connection.connectedAddress = address
        self.timestamps.connected = self.timestamps.clock.monotonic()
    }

    /// A try to connect did not become a connection.
    func connectFailed(_ failure: FailedConnect) {
        self.connection.noteFailure(failure)
        self.note(.tryFailed)
    }

    /// The failed try to connect that came furthest so far.
    func furthestFailedConnect() -> FailedConnect? {
        self.pool?.sockets.reportUnfinished(of: self)
        return self.connection.bestFailure
    }

    /// Stops reading and writing; false if the transfer has no connection to keep, or libcurl refuses.
    func pauseByClient() -> Bool {
        guard self.connection.starts > 0, self.easy.long(CURLINFO_HTTP_VERSION) != Int(CURL_HTTP_VERSION_2_0)
        else { return false }
        self.pause.insert(.client)
        if self.applyPause() == CURLE_OK { return true }
        self.pause.remove(.client)
        return false
    }

    /// Ends one reason for a pause; does nothing if it does not hold.
    func resume(_ reason: PauseState) {
        guard !self.pause.isDisjoint(with: reason) else { return }
        self.pause.subtract(reason)
        // A transfer that libcurl is done with has no connection any more; its end is about to be reported.
        let code = self.applyPause()
        if code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT { self.abortOutsideCurl() }
    }

    /// Lets the body come that waits for its disposition, into another sink if one is given.
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

    /// How long the body has to wait for its rate limit; nil if it may go on.
    ///
    /// libcurl's own limit lets a fast server through before it acts.
    func throttle(at now: MonotonicTime) -> Duration? {
        guard let limit = self.request?.value.bytesPerSecondLimit, let first = self.timestamps.firstByte else {
            return nil
        }
        let due = Duration.seconds(Double(self.response.writer.received) / Double(max(1, limit)))
        let ahead = due - (now - first)
        return ahead > .milliseconds(50) ? ahead : nil
    }

    /// Has libcurl try the next address now.
    ///
    /// After a try that failed, 7.88 goes on only with its next timer, which may be seconds away; the end of a pause sets
    /// one that is due.
    func tryNextAddress() {
        guard !self.connection.isConnected, self.pause.isEmpty else { return }
        // It refuses when that was the last address: the end of the attempt is on its way.
        guard curl_easy_pause(self.easy.raw, CURLPAUSE_RECV | CURLPAUSE_SEND) == CURLE_OK else { return }
        if self.applyPause() != CURLE_OK { self.abortOutsideCurl() }
    }

    // Brings libcurl's pause in line with ours; may deliver bytes to the sink at once.
    private func applyPause() -> CURLcode {
        var mask: Int32 = 0
        if !self.pause.isDisjoint(with: .receiving) { mask |= CURLPAUSE_RECV }
        if !self.pause.isDisjoint(with: .sending) { mask |= CURLPAUSE_SEND }
        return curl_easy_pause(self.easy.raw, mask)
    }
}

/// Why nothing moves.
struct PauseState: OptionSet {
    let rawValue: UInt8
    /// The client paused the attempt.
    static let client = PauseState(rawValue: 1)
    /// The sink is full.
    static let sink = PauseState(rawValue: 2)
    /// The rate limit, or the end of a turn.
    static let rate = PauseState(rawValue: 4)
    /// The client has to decide where the body goes.
    static let disposition = PauseState(rawValue: 8)
    /// The request's body is not there yet.
    static let source = PauseState(rawValue: 16)

    /// What stops reading.
    static let receiving: PauseState = [.client, .sink, .rate, .disposition]
    /// What stops sending.
    static let sending: PauseState = [.client, .source]
    /// What keeps the server from doing its part.
    static let ours: PauseState = [.sink, .rate, .disposition, .source]
}

/// What there is to report about a transfer, and what progress was reported last.
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
        /// The sink's descriptor takes nothing now.
        static let blocked = Kinds(rawValue: 8)
        /// The attempt is to be ended although libcurl did not end it.
        static let aborted = Kinds(rawValue: 16)
        /// The rate limit stopped the body.
        static let throttled = Kinds(rawValue: 32)
        /// Progress that came too soon after the last report may be reported now.
        static let progressDue = Kinds(rawValue: 64)
        /// A try to connect failed, and there may be another address.
        static let tryFailed = Kinds(rawValue: 128)
    }

    let number: Int
    let queue: ReportQueue
    private(set) var pending: Kinds = []
    /// When progress was reported last; the attempt's start before that.
    var lastProgress = MonotonicTime(nanoseconds: 0)
    /// How many bytes had moved then.
    var reportedBytes: Int64 = 0
    /// Whether a timer is set for the next report of progress; it also serves the transfer's next attempt.
    var hasProgressTimer = false

    mutating func add(_ kind: Kinds) {
        if self.pending.isEmpty { self.queue.numbers.append(self.number) }
        self.pending.formUnion(kind)
    }

    /// Takes what there is to report.
    mutating func take() -> Kinds {
        defer { self.pending = [] }
        return self.pending
    }

    mutating func clear() {
        self.pending = []
        self.reportedBytes = 0
    }
}

/// Numbers of the transfers with something to report, in order.
final class ReportQueue {
    var numbers: [Int] = []
}

/// When the stages of an attempt began.
struct TransferTimestamps {
    let clock: SystemClock
    private(set) var started = MonotonicTime(nanoseconds: 0)
    var socketOpened: MonotonicTime?
    var connected: MonotonicTime?
    var wireReached: MonotonicTime?
    var firstByte: MonotonicTime?
    /// When libcurl took the last bytes of the request's body.
    var bodyRead: MonotonicTime?
    /// When the last byte moved, either way.
    var lastActivity = MonotonicTime(nanoseconds: 0)

    mutating func begin() {
        self.started = self.clock.monotonic()
        self.lastActivity = self.started
    }

    mutating func clear() { self = TransferTimestamps(clock: self.clock) }

    /// How long each phase took, the last one until `end`.
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

    // Only libcurl knows when the handshake began; its times count from its own start, name lookup included.
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

/// Every transfer, for as long as the thread lives; free ones are used again, the last one first.
struct TransferTable {
    private var all: [CurlTransfer] = []
    private var free: [Int] = []
    private var byAttempt = IntegerMap<CurlTransfer>()

    subscript(number: Int) -> CurlTransfer? { self.all.indices.contains(number) ? self.all[number] : nil }

    subscript(id: AttemptID) -> CurlTransfer? { self.byAttempt[id.rawValue] }

    /// The transfers with an attempt.
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
