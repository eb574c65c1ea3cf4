internal import CCurl
package import TidegateCore

/// The kind of an attempt's failure, as far as trying again is concerned.
package enum FailureClass: Sendable, Hashable, CaseIterable {
    /// This host had no way to send anything.
    case link
    /// The name gave no address.
    case dns
    /// No connection was made.
    case connect
    /// The connection was lost during the TLS handshake.
    case tlsCutOff
    /// TLS refused the connection.
    case tls
    /// Connected, and then nothing for too long.
    case timeout
    /// The connection failed during the request.
    case transport
    /// The response's status decides.
    case status
    /// The request, or the response to it, cannot be used.
    case client
    /// This host could not do its part.
    case local

    /// The class of a failure that was not libcurl's.
    package init(of failure: TaskFailure) {
        switch failure {
        case .resolveFailed: self = .dns
        case .connectFailed: self = .connect
        case .tlsFailed, .tlsPinMismatch: self = .tls
        case .timedOut, .stalled: self = .timeout
        case .reset, .truncated: self = .transport
        case .httpStatus: self = .status
        case .protocolError, .tooLarge, .redirectRefused, .rangeMismatch, .digestMismatch, .outcomeUnknown,
            .retriesExhausted,
            .gateTimeout, .deadlineExceeded, .cancelled, .invalidRequest:
            self = .client
        case .bodyChanged, .fileError, .diskFull, .internal: self = .local
        }
    }
}

extension AttemptOutcome {
    /// The class of libcurl's code; nil if libcurl reported success, or did not end the attempt.
    package var curlFailureClass: FailureClass? {
        guard ![CURLE_OK, CURLE_ABORTED_BY_CALLBACK].contains(where: { Int32($0.rawValue) == self.curlCode }) else {
            return nil
        }
        return CURLcode(UInt32(bitPattern: self.curlCode))
            .meaning(errorNumber: self.osError, isOnWire: self.reachedWire).class
    }
}
