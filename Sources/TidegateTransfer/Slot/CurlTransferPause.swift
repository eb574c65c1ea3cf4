internal import CCurl
internal import TidegateCore

extension CurlTransfer {
    /// Brings libcurl's pause in line with ours; may deliver bytes to the sink at once.
    func applyPause() -> Bool {
        var mask: Int32 = 0
        if !self.pause.isDisjoint(with: .receiving) { mask |= CURLPAUSE_RECV }
        if !self.pause.isDisjoint(with: .sending) { mask |= CURLPAUSE_SEND }
        return curl_easy_pause(self.easy.raw, mask) == CURLE_OK
    }

    /// The sink takes bytes again.
    func unblock() {
        guard self.pause.remove(.sink) != nil else { return }
        if !self.applyPause() { self.noteBroken() }
    }

    /// The request's body goes on.
    func feed() {
        guard self.pause.remove(.source) != nil else { return }
        if !self.applyPause() { self.noteBroken() }
    }

    /// The body may come.
    func proceed(into sink: BodySink?) {
        guard self.pause.contains(.decision), var request = self.request else { return }
        if let sink {
            request.sink = sink
            self.request = request
        }
        if case .failed(let failure, let text)? = self.sink.start(self.head, of: request) {
            self.fail(failure, text)
            return self.note(.broken)
        }
        self.pause.remove(.decision)
        if !self.applyPause() { self.noteBroken() }
    }

    /// How long the body has to wait for its rate limit; nil where it may go on.
    ///
    /// libcurl's own limit lets a fast server through before it looks.
    func throttle(at now: MonotonicTime) -> Duration? {
        guard let limit = self.request?.bytesPerSecondLimit, let first = self.stamps.firstByte else { return nil }
        let due = Duration.seconds(Double(self.sink.received) / Double(max(1, limit)))
        let ahead = due - (now - first)
        return ahead > .milliseconds(50) ? ahead : nil
    }

    /// The rate limit lets the body go on.
    func unthrottle() {
        guard self.pause.remove(.rate) != nil else { return }
        if !self.applyPause() { self.noteBroken() }
    }

    /// Has the engine end the attempt: libcurl does not report what failed inside a call of ours.
    func noteBroken() {
        self.fail(.internal, "libcurl could not go on")
        self.note(.broken)
    }

    /// Opens what is to be sent; where that fails, the attempt will be reported as over.
    func openBody(_ body: AttemptBody) -> Bool {
        do throws(FileError) {
            try self.upload.open(body)
            return true
        } catch {
            self.fail(error.failure, error.description)
            self.note(.broken)
            return false
        }
    }
}
