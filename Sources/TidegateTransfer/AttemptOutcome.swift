internal import CCurl
package import TidegateCore

/// How an attempt ended, with all data needed for classification and accounting.
///
/// It is passed by reference, because it is large and passed on many times.
package struct AttemptOutcome: Sendable {
    /// The failure that libcurl's code, the response and the sink amount to; nil for a usable 2xx response whose body
    /// is complete as far as can be known.
    ///
    /// Any other status, redirects included, is `httpStatus`; an unusable range is `rangeMismatch`; a broken kept
    /// connection is `reset`. Retrying is decided elsewhere.
    package var failure: TaskFailure?
    /// The `CURLcode` (libcurl-errors(3)); 0 is success, `CURLE_ABORTED_BY_CALLBACK` means that libcurl did not end the
    /// attempt.
    package var curlCode: Int32 = 0
    /// Whether a TCP connection existed.
    package var isConnected = false
    /// The remote address of that connection; nil without a connection.
    package var connectedTo: IPAddress?
    /// Whether any part of the request may have been sent.
    package var reachedWire = false
    /// The last stage that the attempt reached.
    package var stage = Stage.connect
    /// How often the request was started on the wire, including libcurl's own repetitions.
    package var wireTries = 0
    /// The final response's head; nil if none was received completely.
    package var head: ResponseHead?
    /// Whether the end of the body was verified: by its length, the last chunk or a response without a body.
    ///
    /// A good response that merely stopped (closed connection, HTTP/2 without a length) is not verified.
    package var isLengthVerified = false
    /// The body of a good response, if the sink is memory.
    package var body: [UInt8] = []
    /// The first 64 KiB of the body of a response that was not good.
    package var diagnosticBody: [UInt8] = []
    /// The counters at the end.
    package var progress: AttemptProgress
    /// When the attempt started.
    package var started: MonotonicTime
    /// When it ended.
    package var ended: MonotonicTime
    /// The duration of each phase, measured by this process; `resolve` belongs to the resolver and is always nil.
    package var phases = PhaseDurations()
    /// The number of connections opened for the attempt; 0 if one was reused.
    package var connectionsOpened = 0
    /// The connection used; nil if none.
    package var connection: ConnectionFacts?
    /// The failed connect that came furthest; nil if a connection was made.
    @Rare package var failedConnect: FailedConnect? = nil
    /// The addresses that did not answer in time, even if another one did.
    package var silentAddresses: [IPAddress] = []
    /// The connection's error number (errno(3)); 0 without an error.
    package var osError: Int32 = 0
    /// Whether it failed because no descriptor was free.
    package var lackedDescriptor = false
    /// Details of the TLS handshake, including one made for an earlier attempt on the same connection; nil without TLS.
    @Rare package var tls: TLSDetails? = nil
    /// The server's certificate, if the request asked for it and the server sent one.
    @Rare package var certificate: CertificateSummary? = nil
    /// The expiry of the certificates, if the request asked for it and the server sent some.
    @Rare package var certificateChain: CertificateChain? = nil
    /// Why the certificate was rejected; nil if it was not.
    @Rare package var certificateError: CertificateError? = nil
    /// Why the handshake failed for another reason than the certificate; nil if it did not.
    @Rare package var handshake: HandshakeFailure? = nil
    /// The proxy's answer to the request for a connection; nil if it gave none or agreed.
    @Rare package var proxyAnswer: ProxyAnswer? = nil
    /// The error in one clause without a full stop; empty on success.
    package var text = ""
    /// Whether the server said that it has not processed the request (RFC 9113 section 8.7).
    package var isUnprocessed = false
    /// Whether the server requires HTTP/1.1 for the request (RFC 9113 section 7).
    package var requiresHTTP1 = false

    /// True if the server rejected our certificate or did not receive one.
    package var lacksClientCertificate: Bool { self.curlCode == Int32(CURLE_SSL_CLIENTCERT.rawValue) }

    /// The class of libcurl's code; nil on success or if libcurl did not end the attempt.
    package var curlFailureClass: FailureClass? {
        guard ![CURLE_OK, CURLE_ABORTED_BY_CALLBACK].contains(where: { Int32($0.rawValue) == self.curlCode }) else {
            return nil
        }
        return CURLcode(UInt32(bitPattern: self.curlCode))
            .meaning(errorNumber: self.osError, isOnWire: self.reachedWire).class
    }

    /// The kind of the connection's error; nil without an error.
    package var socketError: SocketError? {
        let error = SocketError(errorNumber: self.osError)
        // The same error number (EINVAL, ipv6(7)).
        guard error == .blackholed, let peer = self.peer, peer.family == .ipv6, peer.isLinkLocal, peer.zone == 0 else {
            return error
        }
        return .lacksInterface
    }

    /// The ICMP error that refused the connection, if one did.
    package var refusal: ICMPError? { self.failedConnect?.refusal }

    /// The address whose answer counts: the connected one, else that of the connect that came furthest; nil if none was
    /// tried.
    package var peer: IPAddress? { self.connection?.remote ?? self.connectedTo ?? self.failedConnect?.address }
}

extension AttemptOutcome {
    /// Creates an outcome with these times and nothing else.
    package init(progress: AttemptProgress, started: MonotonicTime, ended: MonotonicTime) {
        (self.progress, self.started, self.ended) = (progress, started, ended)
    }
}

extension FailureEvidence {
    /// The evidence in the outcome of an attempt.
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

/// The reports of an attempt.
///
/// They arrive in the order of the cases. `progress` may repeat. `finished` is always last and comes once, unless the
/// attempt is discarded. No report is delivered from inside a call of the engine or of libcurl.
package enum AttemptReport: Sendable {
    /// The connection exists and the request is about to be sent: from now on the server may act on it.
    case wireReached(ConnectionFacts)
    /// The head of the final response (never 1xx).
    case head(ResponseHead)
    /// Body bytes have moved.
    ///
    /// At most ten reports a second; one always follows the last byte of a burst, unless that byte ends the attempt.
    case progress(AttemptProgress)
    /// The attempt has ended.
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

/// The progress of an attempt's bodies.
///
/// Counts are bytes of this attempt alone.
package struct AttemptProgress: Sendable, Hashable {
    /// Where the received body starts: the resume point's offset if the server continues there, else 0.
    package var offset: Int64 = 0
    /// Response body bytes on the wire, before decoding.
    package var receivedWire: Int64 = 0
    /// Response body bytes written to the sink, after decoding.
    package var received: Int64 = 0
    /// The length of the whole body on the wire, including ``offset``; nil while unknown.
    package var expected: Int64?
    /// Request body bytes sent.
    package var sent: Int64 = 0
    /// When the last byte moved in either direction; initially the attempt's start.
    package var lastActivity: MonotonicTime
}

extension AttemptProgress {
    /// Progress without any bytes.
    package init(lastActivity: MonotonicTime) { self.lastActivity = lastActivity }
}
