package import TidegateCore

/// How an attempt ended, with all that is needed to classify and to account for it.
package struct AttemptOutcome: Sendable {
    /// What libcurl's code, the answer and the sink amount to; nil for a usable 2xx answer, complete as far as can be
    /// known.
    ///
    /// Any other status is `httpStatus` (redirects too), a useless range `rangeMismatch`, a stopped silent repetition
    /// `outcomeUnknown`. Never a decision about trying again.
    package var failure: TaskFailure?
    /// The `CURLcode` (libcurl-errors(3)); 0 is success.
    package var curlCode: Int32 = 0
    /// Whether a TCP connection stood.
    package var isConnected = false
    /// Whom it led to; nil where none stood.
    package var connectedTo: IPAddress?
    /// Whether the request, or a part of it, may have been sent.
    package var reachedWire = false
    /// How far the attempt came.
    package var stage: Stage = .connect
    /// How often the request was started on the wire, libcurl's own repetitions included.
    package var wireTries = 0
    /// The final answer's head; nil where none came whole.
    package var head: ResponseHead?
    /// Whether the body's end was proved: by its length, the last chunk or an answer that has no body.
    ///
    /// A good answer that merely stopped (closed connection, HTTP/2 without a length) is not.
    package var isLengthVerified = false
    /// The body, for the memory sink and good answers.
    package var body: [UInt8] = []
    /// The counters at the end.
    package var progress: AttemptProgress
    /// When the attempt started.
    package var started: MonotonicTime
    /// When it ended.
    package var ended: MonotonicTime
    /// The phases that were run, by our own stamps; `resolve` belongs to the resolver and is always nil.
    package var phases = PhaseDurations()
    /// Connections opened for it; 0 when one was reused.
    package var connectionsOpened = 0
    /// The connection used; nil where none came about.
    package var contact: ConnectionFacts?

    // What only few attempts have is boxed: every other outcome is handed on without room for it.
    private var rest: Rest?

    package init(progress: AttemptProgress, started: MonotonicTime, ended: MonotonicTime) {
        self.progress = progress
        self.started = started
        self.ended = ended
    }

    /// Who refused the connection with an ICMP error, where somebody did.
    package var refusal: ICMPError? { self.failedConnect?.refusal }

    /// The address whose answer counts: the connected one, or that of the try that came furthest; nil where none was
    /// tried.
    package var peer: IPAddress? { self.contact?.remote ?? self.connectedTo ?? self.failedConnect?.address }
}

/// What hardly any attempt has to tell but one that failed.
extension AttemptOutcome {
    private final class Rest: Sendable {
        let details: Details

        init(_ details: Details) { self.details = details }
    }

    private struct Details: Sendable {
        var osError: Int32 = 0
        var socketError: FailureEvidence.SocketError?
        var dial: DialEnd?
        var certificate: CertificateSummary?
        var certificateProblem: CertificateProblem?
        var text: String = ""
        var diagnosticBody: [UInt8] = []
    }

    private mutating func change(_ change: (inout Details) -> Void) {
        var details = self.rest?.details ?? Details()
        change(&details)
        self.rest = Rest(details)
    }

    /// The connection's error number (errno(3)); 0 where there is none.
    package var osError: Int32 {
        get { self.rest?.details.osError ?? 0 }
        set { if newValue != 0 || self.rest != nil { self.change { $0.osError = newValue } } }
    }
    /// What the socket error tells; nil where there is none.
    package var socketError: FailureEvidence.SocketError? {
        get { self.rest?.details.socketError }
        set { if newValue != nil || self.rest != nil { self.change { $0.socketError = newValue } } }
    }
    /// The try to connect that came furthest, where none became a connection.
    package var failedConnect: DialEnd? {
        get { self.rest?.details.dial }
        set { if newValue != nil || self.rest != nil { self.change { $0.dial = newValue } } }
    }
    /// The server's certificate, where the request wanted it and one was shown.
    package var certificate: CertificateSummary? {
        get { self.rest?.details.certificate }
        set { if newValue != nil || self.rest != nil { self.change { $0.certificate = newValue } } }
    }
    /// Why the certificate was refused; nil where it was not.
    package var certificateProblem: CertificateProblem? {
        get { self.rest?.details.certificateProblem }
        set { if newValue != nil || self.rest != nil { self.change { $0.certificateProblem = newValue } } }
    }
    /// What went wrong, in libcurl's or the file system's words; empty on success.
    package var text: String {
        get { self.rest?.details.text ?? "" }
        set { if !newValue.isEmpty || self.rest != nil { self.change { $0.text = newValue } } }
    }
    /// The first 64 KiB of the body of an answer that was not good.
    package var diagnosticBody: [UInt8] {
        get { self.rest?.details.diagnosticBody ?? [] }
        set { if !newValue.isEmpty || self.rest != nil { self.change { $0.diagnosticBody = newValue } } }
    }
}
