package import TidegateCore

/// How an attempt ended, with everything that is needed to classify it and to account for it.
package struct AttemptOutcome: Sendable {
    /// What libcurl's code, the response and the sink amount to; nil for a usable 2xx response, complete as far as can
    /// be known.
    ///
    /// Any other status is `httpStatus` (redirects too), a useless range `rangeMismatch`, a stopped silent repetition
    /// `outcomeUnknown`. Never a decision about trying again.
    package var failure: TaskFailure?
    /// The `CURLcode` (libcurl-errors(3)); 0 is success.
    package var curlCode: Int32 = 0
    /// Whether there was a TCP connection.
    package var isConnected = false
    /// The address it led to; nil without a connection.
    package var connectedTo: IPAddress?
    /// Whether the request, or a part of it, may have been sent.
    package var reachedWire = false
    /// How far the attempt came.
    package var stage: Stage = .connect
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

    // What only few attempts have is boxed: every other outcome is passed on without room for it.
    private var details: Details?

    package init(progress: AttemptProgress, started: MonotonicTime, ended: MonotonicTime) {
        self.progress = progress
        self.started = started
        self.ended = ended
    }

    /// The ICMP error that refused the connection, if one did.
    package var refusal: ICMPError? { self.failedConnect?.refusal }

    /// The address whose answer counts: the connected one, or that of the try that came furthest; nil if none was
    /// tried.
    package var peer: IPAddress? { self.connection?.remote ?? self.connectedTo ?? self.failedConnect?.address }
}

// What usually only a failed attempt has.
extension AttemptOutcome {
    fileprivate final class Details: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    fileprivate struct Values: Sendable {
        var osError: Int32 = 0
        var socketError: SocketError?
        var failedConnect: FailedConnect?
        var certificate: CertificateSummary?
        var certificateError: CertificateError?
        var text: String = ""
        var diagnosticBody: [UInt8] = []
    }

    private func changed(_ change: (inout Values) -> Void) -> Details {
        var values = self.details?.values ?? Values()
        change(&values)
        return Details(values)
    }

    /// The connection's error number (errno(3)); 0 if there is none.
    package var osError: Int32 {
        get { self.details?.values.osError ?? 0 }
        set { if newValue != 0 || self.details != nil { self.details = self.changed { $0.osError = newValue } } }
    }
    /// The kind of that error; nil if there is none.
    package var socketError: SocketError? {
        get { self.details?.values.socketError }
        set { if newValue != nil || self.details != nil { self.details = self.changed { $0.socketError = newValue } } }
    }
    /// The try to connect that came furthest, if none became a connection.
    package var failedConnect: FailedConnect? {
        get { self.details?.values.failedConnect }
        set {
            if newValue != nil || self.details != nil { self.details = self.changed { $0.failedConnect = newValue } }
        }
    }
    /// The server's certificate, if the request wanted it and one was shown.
    package var certificate: CertificateSummary? {
        get { self.details?.values.certificate }
        set { if newValue != nil || self.details != nil { self.details = self.changed { $0.certificate = newValue } } }
    }
    /// Why the certificate was refused; nil if it was not.
    package var certificateError: CertificateError? {
        get { self.details?.values.certificateError }
        set {
            if newValue != nil || self.details != nil { self.details = self.changed { $0.certificateError = newValue } }
        }
    }
    /// What went wrong, as libcurl or the file system says it; empty on success.
    package var text: String {
        get { self.details?.values.text ?? "" }
        set { if !newValue.isEmpty || self.details != nil { self.details = self.changed { $0.text = newValue } } }
    }
    /// The first 64 KiB of the body of a response that was not good.
    package var diagnosticBody: [UInt8] {
        get { self.details?.values.diagnosticBody ?? [] }
        set {
            if !newValue.isEmpty || self.details != nil { self.details = self.changed { $0.diagnosticBody = newValue } }
        }
    }
}
