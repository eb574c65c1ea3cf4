internal import TidegateLoop
internal import CCurl
internal import Glibc
internal import TidegateCore

/// Makes the outcome of a transfer that is over; takes the body out of it.
struct OutcomeBuilder {
    let transfer: CurlTransfer
    let code: CURLcode

    func build() -> AttemptOutcome {
        let transfer = self.transfer
        var outcome = AttemptOutcome(
            progress: transfer.progress(), started: transfer.timestamps.started,
            ended: transfer.timestamps.clock.monotonic())
        outcome.curlCode = Int32(self.code.rawValue)
        outcome.head = transfer.response.head.value
        outcome.wireTries = transfer.connection.starts
        outcome.reachedWire = transfer.connection.starts > 0
        outcome.isConnected = transfer.connection.isConnected
        outcome.stage = self.stage
        outcome.connectionsOpened = transfer.easy.long(CURLINFO_NUM_CONNECTS)
        outcome.connection = transfer.connection.facts()
        outcome.connectedTo = transfer.connection.connectedAddress
        outcome.phases = transfer.timestamps.phases(
            until: outcome.ended, of: transfer.easy, hasOpened: transfer.connection.hasOpened)
        outcome.failure = self.failure(receivedWire: outcome.progress.receivedWire)
        if outcome.failure == nil {
            outcome.isLengthVerified = transfer.response.isEndProved(transfer.request)
            outcome.body = transfer.response.removeBody()
        } else {
            self.explain(&outcome)
        }
        outcome.diagnosticBody = transfer.response.writer.diagnostic
        if transfer.request?.wantsCertificate == true {
            outcome.certificate = CertificateReader.summary(of: transfer.easy)
        }
        return outcome
    }

    private var stage: Stage {
        if self.transfer.response.head.isComplete { return .body }
        if self.transfer.connection.starts > 0 {
            return self.transfer.upload.isAtEnd(of: self.transfer.request?.body) ? .response : .request
        }
        return self.transfer.connection.isConnected ? .tls : .connect
    }

    // What we know ourselves comes first, then what the response says, then libcurl's code.
    private func failure(receivedWire: Int64) -> TaskFailure? {
        let (request, response) = (self.transfer.request, self.transfer.response)
        if let reason = self.transfer.abortReason { return reason.failure }
        if let head = response.head.value {
            switch head.range {
            case .reject(let failure): return failure
            case .alreadyComplete: return nil
            case .append, .restartFromZero: break
            }
        }
        guard self.code == CURLE_OK else {
            return self.code.meaning(errorNumber: 0, isOnWire: self.transfer.connection.starts > 0).failure
        }
        if let last = request?.lastStage, last <= .tls { return nil }
        guard response.head.isComplete else { return .protocolError }
        return response.isShort(of: request, received: receivedWire) ? .truncated : nil
    }

    private func explain(_ outcome: inout AttemptOutcome) {
        if !outcome.isConnected { outcome.failedConnect = self.transfer.furthestFailedConnect() }
        // libcurl's number is that of the last try, and not of the one that counts.
        outcome.osError = outcome.failedConnect?.errorNumber ?? self.transfer.errorNumber
        outcome.socketError = SocketError(errorNumber: outcome.osError)
        outcome.text = self.text(outcome)
        guard self.code == CURLE_PEER_FAILED_VERIFICATION else { return }
        outcome.certificateError = CertificateError(
            verifyResult: self.transfer.easy.long(CURLINFO_SSL_VERIFYRESULT), text: outcome.text)
    }

    private func text(_ outcome: AttemptOutcome) -> String {
        if let reason = self.transfer.abortReason, !reason.text.isEmpty { return reason.text }
        if case .httpStatus? = outcome.failure, let status = outcome.head?.status {
            return "the server answered \(status)"
        }
        if case .rangeMismatch? = outcome.failure { return "the server does not continue the body where it ended" }
        if let message = self.transfer.easy.errorMessage { return message }
        return self.code == CURLE_OK ? "the body ended before its length" : CurlError.text(of: self.code)
    }
}

extension SocketError {
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
