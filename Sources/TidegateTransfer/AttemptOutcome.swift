internal import CCurl
package import TidegateCore

/// How an attempt ended, with everything that is needed to classify it and to account for it.
///
/// It is reported behind one reference, because it is large and passed on many times.
package struct AttemptOutcome: Sendable {
    /// What libcurl's code, the response and the sink amount to; nil for a usable 2xx response, complete as far as can
    /// be known.
    ///
    /// Any other status is `httpStatus` (redirects too), a useless range `rangeMismatch`, a kept connection that broke
    /// `reset`. Never a decision about trying again.
    package var failure: TaskFailure?
    /// The `CURLcode` (libcurl-errors(3)); 0 is success, `CURLE_ABORTED_BY_CALLBACK` an end that was not libcurl's.
    package var curlCode: Int32 = 0
    /// Whether there was a TCP connection.
    package var isConnected = false
    /// The address it led to; nil without a connection.
    package var connectedTo: IPAddress?
    /// Whether the request, or a part of it, may have been sent.
    package var reachedWire = false
    /// How far the attempt came.
    package var stage = Stage.connect
    /// How often the request was started on the wire, libcurl's own repetitions included.
    package var wireTries = 0
    /// The final response's head; nil if none came whole.
    package var head: ResponseHead?
    /// Whether the body's end was proved: by its length, the last chunk or a response that has no body.
    ///
    /// A good response that merely stopped (closed connection, HTTP/2 without a length) is not.
    package var isLengthVerified = false
    /// The body, for the memory sink and good responses.
    package var body: [UInt8] = []
    /// The first 64 KiB of the body of a response that was not good.
    package var diagnosticBody: [UInt8] = []
    /// The counters at the end.
    package var progress: AttemptProgress
    /// When the attempt started.
    package var started: MonotonicTime
    /// When it ended.
    package var ended: MonotonicTime
    /// The phases that were run, by our own timestamps; `resolve` belongs to the resolver and is always nil.
    package var phases = PhaseDurations()
    /// Connections opened for it; 0 when one was reused.
    package var connectionsOpened = 0
    /// The connection used; nil without one.
    package var connection: ConnectionFacts?
    /// The try to connect that came furthest, if none became a connection.
    @Rare package var failedConnect: FailedConnect? = nil
    /// The addresses that had their time and did not answer, also if another one did.
    package var silentAddresses: [IPAddress] = []
    /// The connection's error number (errno(3)); 0 without an error.
    package var osError: Int32 = 0
    /// Whether it failed because no descriptor was free.
    package var lackedDescriptor = false
    /// What the handshake showed, also on a connection that another attempt had made; nil if there was none.
    @Rare package var tls: TLSDetails? = nil
    /// The server's certificate, if the request wanted it and one was shown.
    @Rare package var certificate: CertificateSummary? = nil
    /// When the certificates end, if the request wanted it and some were shown.
    @Rare package var certificateChain: CertificateChain? = nil
    /// Why the certificate was refused; nil if it was not.
    @Rare package var certificateError: CertificateError? = nil
    /// Why the handshake failed, if not for the certificate; nil if it did not.
    @Rare package var handshake: HandshakeFailure? = nil
    /// What went wrong, in a clause without a final full stop; empty on success.
    package var text = ""

    /// True if the server refused our certificate, or was shown none.
    package var lacksClientCertificate: Bool { self.curlCode == Int32(CURLE_SSL_CLIENTCERT.rawValue) }

    /// What a proxy said to the connection that was wanted of it; nil if it said nothing, or yes.
    package var proxyAnswer: ProxyAnswer? {
        switch self.curlCode {
        case Int32(CURLE_LOGIN_DENIED.rawValue): .denied
        case Int32(CURLE_PROXY.rawValue): .failed
        default: nil
        }
    }

    /// The class of libcurl's code; nil if libcurl reported success, or did not end the attempt.
    package var curlFailureClass: FailureClass? {
        guard ![CURLE_OK, CURLE_ABORTED_BY_CALLBACK].contains(where: { Int32($0.rawValue) == self.curlCode }) else {
            return nil
        }
        return CURLcode(UInt32(bitPattern: self.curlCode))
            .meaning(errorNumber: self.osError, isOnWire: self.reachedWire).class
    }

    /// The kind of the connection's error; nil without an error.
    package var socketError: SocketError? { SocketError(errorNumber: self.osError) }

    /// The ICMP error that refused the connection, if one did.
    package var refusal: ICMPError? { self.failedConnect?.refusal }

    /// The address whose answer counts: the connected one, or that of the try that came furthest; nil if none was
    /// tried.
    package var peer: IPAddress? { self.connection?.remote ?? self.connectedTo ?? self.failedConnect?.address }
}

extension AttemptOutcome {
    /// An outcome with these times, and nothing else known.
    package init(progress: AttemptProgress, started: MonotonicTime, ended: MonotonicTime) {
        (self.progress, self.started, self.ended) = (progress, started, ended)
    }
}

extension FailureEvidence {
    /// What the outcome of an attempt shows.
    package init(_ failure: TaskFailure, _ outcome: AttemptOutcome, before: Verdict, after: Verdict) {
        self.init(failure: failure, stage: outcome.stage, peer: outcome.peer, before: before, after: after)
        (self.status, self.socketError) = (outcome.head?.status, outcome.socketError)
        (self.refusal, self.local) = (outcome.refusal, outcome.connection?.local ?? outcome.failedConnect?.local)
        self.isImmediate = outcome.failedConnect?.isImmediate ?? false
        self.unanswered = outcome.failedConnect.map { $0.retransmits + 1 } ?? 0
        (self.certificateError, self.certificate) = (outcome.certificateError, outcome.certificate)
        (self.handshake, self.text) = (outcome.handshake, outcome.text)
        self.silentSince = outcome.started
        (self.lacksClientCertificate, self.proxyAnswer) = (outcome.lacksClientCertificate, outcome.proxyAnswer)
    }
}

/// What becomes of an attempt.
///
/// In this order; `progress` any number of times; `finished` always, once and last, unless the attempt is discarded.
/// Never delivered from inside a call of the engine or of libcurl.
package enum AttemptReport: Sendable {
    /// There is a connection and the request is about to be sent: from here on the server may act on it.
    case wireReached(ConnectionFacts)
    /// The head of the final response (never 1xx).
    case head(ResponseHead)
    /// Body bytes moved; at most ten times a second, and always after the last byte of a burst, but for one that ends
    /// the attempt.
    case progress(AttemptProgress)
    /// The attempt is over.
    case finished(Indirect<AttemptOutcome>)
}

/// The connection an attempt uses.
package struct ConnectionFacts: Sendable, Hashable {
    /// Our address.
    package var local: IPAddress?
    /// The server's address, or the proxy's.
    package var remote: IPAddress?
    /// Whether an earlier attempt had made the connection.
    package var isReused: Bool = false
}

/// How far an attempt's bodies have come.
///
/// Counts are bytes of this attempt alone.
package struct AttemptProgress: Sendable, Hashable {
    /// Where the body being received starts: the resume point's offset if the server continues there, else 0.
    package var offset: Int64 = 0
    /// Response body bytes on the wire, before decoding.
    package var receivedWire: Int64 = 0
    /// Response body bytes written to the sink, after decoding.
    package var received: Int64 = 0
    /// The whole body on the wire, ``offset`` included; nil while unknown.
    package var expected: Int64?
    /// Request body bytes sent.
    package var sent: Int64 = 0
    /// When the last byte moved, either way; the attempt's start before that.
    package var lastActivity: MonotonicTime
}

extension AttemptProgress {
    /// Nothing has moved.
    package init(lastActivity: MonotonicTime) { self.lastActivity = lastActivity }
}
