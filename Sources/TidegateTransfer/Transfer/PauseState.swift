internal import CCurl
internal import TidegateCore

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

extension CurlTransfer {
    /// Stops reading and writing; false if the transfer has no connection to keep, or libcurl refuses.
    func pauseByClient() -> Bool {
        guard self.connection.starts > 0, self.easy.long(CURLINFO_HTTP_VERSION) != Int(CURL_HTTP_VERSION_2_0)
        else { return false }
        self.pause.insert(.client)
        if self.applyPause() { return true }
        self.pause.remove(.client)
        return false
    }

    /// Ends one reason for a pause; does nothing if it does not hold.
    func resume(_ reason: PauseState) {
        guard !self.pause.isDisjoint(with: reason) else { return }
        self.pause.subtract(reason)
        if !self.applyPause() { self.abortOutsideCurl() }
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
            self.abort(failure, text)
            return self.note(.aborted)
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
        if !self.applyPause() { self.abortOutsideCurl() }
    }

    // Brings libcurl's pause in line with ours; may deliver bytes to the sink at once.
    private func applyPause() -> Bool {
        var mask: Int32 = 0
        if !self.pause.isDisjoint(with: .receiving) { mask |= CURLPAUSE_RECV }
        if !self.pause.isDisjoint(with: .sending) { mask |= CURLPAUSE_SEND }
        return curl_easy_pause(self.easy.raw, mask) == CURLE_OK
    }
}
