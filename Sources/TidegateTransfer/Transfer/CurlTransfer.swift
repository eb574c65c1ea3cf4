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
    private(set) var abortReason: AbortReason?

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
        if self.abortReason == nil { self.abortReason = AbortReason(failure: failure, text: text()) }
    }

    /// Has the engine end the attempt: libcurl does not report what failed inside a call of ours.
    func abortOutsideCurl() {
        self.abort(.internal, "libcurl could not go on")
        self.note(.aborted)
    }

    /// Opens what is to be sent; if that fails, the attempt will be reported as over.
    func openFiles(_ request: Indirect<AttemptRequest>) -> Bool {
        do throws(FileError) {
            if request.usesTLS {
                for file in [
                    request.value.tls.caFile, request.value.tls.clientCertificate, request.value.tls.clientKey,
                ] {
                    if let file { try OwnFile.refusePipe(file) }
                }
            }
            try self.upload.open(request.value.body)
            return true
        } catch {
            self.abort(error.failure, error.description)
            self.note(.aborted)
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
}

// MARK: - Connecting

extension CurlTransfer: ConnectObserver {
    var attempt: AttemptID? { self.request?.value.id }

    var errorNumber: Int32 { Int32(truncatingIfNeeded: self.easy.long(CURLINFO_OS_ERRNO)) }

    func didConnect(to address: IPAddress?) {
        self.connection.noteConnected(to: address)
        self.timestamps.connected = self.timestamps.clock.monotonic()
    }

    func connectFailed(_ failure: FailedConnect) {
        self.connection.noteFailure(failure)
        self.note(.tryFailed)
    }

    /// The failed try to connect that came furthest so far.
    func furthestFailedConnect() -> FailedConnect? {
        self.pool?.callbacks.sockets.reportUnfinished(of: self)
        return self.connection.bestFailure
    }
}

/// Why a transfer was ended by us and not by libcurl.
struct AbortReason {
    let failure: TaskFailure
    let text: String
}
