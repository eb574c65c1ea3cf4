internal import CCurl
internal import Glibc
internal import TidegateLoop
internal import TidegateCore

extension CurlTransfer {
    /// The counters now.
    func progress() -> AttemptProgress {
        let offset = self.head.isComplete && self.head.range == .append ? self.request?.resume?.offset ?? 0 : 0
        // Before it reaches the wire, libcurl's counts are those of the slot's last attempt.
        let isOnWire = self.wire.tries > 0
        // While we do not read, the server has no chance to send.
        let isOurPause = !self.pause.isDisjoint(with: .ours)
        return AttemptProgress(
            offset: offset, receivedWire: isOnWire ? self.easy.offset(CURLINFO_SIZE_DOWNLOAD_T) : 0,
            received: self.sink.received, expected: self.expected(from: offset),
            sent: isOnWire ? self.easy.offset(CURLINFO_SIZE_UPLOAD_T) : 0,
            lastActivity: isOurPause ? self.time.monotonic() : self.stamps.lastActivity)
    }

    private func expected(from offset: Int64) -> Int64? {
        guard self.head.isComplete, self.request?.method != "HEAD" else { return nil }
        return self.head.contentLength.map { length in
            let (sum, isTooLong) = offset.addingReportingOverflow(length)
            return isTooLong ? .max : sum
        }
    }

    /// How the attempt ended; takes the body out of the slot.
    func outcome(_ code: CURLcode) -> AttemptOutcome {
        var outcome = AttemptOutcome(
            progress: self.progress(), started: self.stamps.started, ended: self.time.monotonic())
        outcome.curlCode = Int32(code.rawValue)
        outcome.head = self.head.value()
        outcome.wireTries = self.wire.tries
        outcome.reachedWire = self.wire.tries > 0
        outcome.isConnected = self.dials.isConnected || outcome.reachedWire
        outcome.stage = self.stage(isConnected: outcome.isConnected)
        outcome.connectionsOpened = self.easy.long(CURLINFO_NUM_CONNECTS)
        outcome.contact = self.wire.contact()
        outcome.connectedTo = self.dials.connected
        outcome.phases = self.phases(until: outcome.ended)
        outcome.failure = self.failure(code, outcome)
        outcome.isLengthVerified = outcome.failure == nil && self.isEndProved(outcome.head)
        if outcome.failure == nil { outcome.body = self.sink.takeBody() } else { self.explain(code, &outcome) }
        outcome.diagnosticBody = self.sink.diagnostic
        if self.request?.wantsCertificate == true { outcome.certificate = CertificateReader.summary(of: self.easy) }
        return outcome
    }

    private func stage(isConnected: Bool) -> Stage {
        if self.head.isComplete { return .body }
        if self.wire.tries > 0 { return self.upload.isAtEnd(of: self.request?.body) ? .response : .request }
        return isConnected ? .tls : .connect
    }

    private func explain(_ code: CURLcode, _ outcome: inout AttemptOutcome) {
        if !outcome.isConnected {
            self.epoch?.log.dials.settle(self)
            outcome.failedConnect = self.dials.best
        }
        // libcurl's number is that of the last try, and not of the one that counts.
        outcome.osError =
            outcome.failedConnect?.errorNumber ?? Int32(truncatingIfNeeded: self.easy.long(CURLINFO_OS_ERRNO))
        outcome.socketError = FailureEvidence.SocketError(errorNumber: outcome.osError)
        outcome.text = self.text(code, outcome)
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return }
        outcome.certificateProblem = CertificateProblem(
            verifyResult: self.easy.long(CURLINFO_SSL_VERIFYRESULT), text: outcome.text)
    }

    private func text(_ code: CURLcode, _ outcome: AttemptOutcome) -> String {
        if let local = self.localFailure, !local.text.isEmpty { return local.text }
        if case .httpStatus? = outcome.failure, let status = outcome.head?.status {
            return "the server answered \(status)"
        }
        if case .rangeMismatch? = outcome.failure { return "the server does not continue the body where it ended" }
        if self.errorText[0] != 0 { return String(cString: self.errorText) }
        return code == CURLE_OK ? "the body ended before its length" : CurlError.text(of: code)
    }

    // What we know ourselves comes first, then what the answer says, then libcurl's code.
    private func failure(_ code: CURLcode, _ outcome: AttemptOutcome) -> TaskFailure? {
        if let local = self.localFailure { return local.failure }
        if let head = outcome.head {
            switch head.range {
            case .reject(let failure): return failure
            case .alreadyComplete: return nil
            case .append, .restartFromZero: break
            }
        }
        guard code == CURLE_OK else {
            return code.meaning(errorNumber: outcome.osError, isOnWire: outcome.reachedWire).failure
        }
        if let last = self.request?.lastStage, last <= .tls { return nil }
        guard outcome.head != nil else { return .protocolError }
        return self.isShort(outcome) ? .truncated : nil
    }

    // A socket that was shut down locally ends bodies early without an error.
    private func isShort(_ outcome: AttemptOutcome) -> Bool {
        guard let length = self.head.contentLength, !self.hasNoBody else { return false }
        return outcome.progress.receivedWire < length
    }

    // `bytes 5-9/*`: byte 9 may be the last one or not.
    private var isPartOfUnknown: Bool {
        guard self.head.status == 206, let resume = self.request?.resume, resume.total == nil else { return false }
        return self.head.block.contentRange?.total == nil
    }

    private var hasNoBody: Bool {
        self.request?.method == "HEAD" || self.head.status == 204 || self.head.status == 304
    }

    private func isEndProved(_ head: ResponseHead?) -> Bool {
        guard let head else { return false }
        if head.range == .alreadyComplete { return true }
        if self.isPartOfUnknown { return false }
        if self.head.contentLength != nil || self.hasNoBody { return true }
        // "chunked" is the last coding where it is used at all (RFC 9112 section 6.1); HTTP/2 has none.
        return head.field("transfer-encoding")?.lowercased().hasSuffix("chunked") ?? false
    }

    private func phases(until end: MonotonicTime) -> PhaseDurations {
        var phases = PhaseDurations()
        if self.wire.hasOpened { self.addConnectPhases(to: &phases) }
        if let reached = self.stamps.wireReached {
            phases.processing = self.stamps.firstByte.map { $0 - reached }
        }
        phases.transfer = self.stamps.firstByte.map { end - $0 }
        return phases
    }

    // Only libcurl sees the moment between the connection and the handshake; it counts from its own start.
    private func addConnectPhases(to phases: inout PhaseDurations) {
        guard let opened = self.stamps.socketOpened else { return }
        let connected = self.easy.offset(CURLINFO_CONNECT_TIME_T)
        let secured = self.easy.offset(CURLINFO_APPCONNECT_TIME_T)
        if secured > connected, connected > 0 {
            phases.tls = .microseconds(secured - connected)
            phases.connect = .microseconds(max(0, connected - self.easy.offset(CURLINFO_NAMELOOKUP_TIME_T)))
        } else if let reached = self.stamps.wireReached {
            phases.connect = reached - opened
        } else if let connected = self.stamps.connected {
            phases.connect = connected - opened
        }
    }
}

extension FailureEvidence.SocketError {
    /// The socket error behind an error number; nil for 0.
    init?(errorNumber: Int32) {
        switch errorNumber {
        case 0: return nil
        case ECONNREFUSED: self = .refused
        case ENETUNREACH, ENETDOWN: self = .networkUnreachable
        case EHOSTUNREACH: self = .hostUnreachable
        case ETIMEDOUT: self = .timedOut
        case ECONNRESET, EPIPE: self = .reset
        case EADDRNOTAVAIL: self = .addressNotAvailable
        case EACCES, EPERM: self = .prohibited
        case EINVAL: self = .blackholed
        default: self = .other
        }
    }
}
