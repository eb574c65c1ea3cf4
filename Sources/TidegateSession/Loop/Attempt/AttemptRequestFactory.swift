internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Creates the request of an attempt: its fields, credentials, body and the observers of the response's body.
struct AttemptRequestFactory {
    let configuration: SessionConfiguration
    let time: any TimeSource
    let bodies: TaskBodies
    let delegate: DelegateDispatcher
    let random: RandomSource
    let revalidator: ResponseRevalidator

    var wallTime: WallTime { self.time.wall() }

    /// True if the request's body can be sent again.
    func canSendBody(_ record: TaskRecord) -> Bool {
        guard let stream = record.uploadStream, record.hop.keepsBody else { return true }
        return stream.isUntouched || self.delegate.hook(record.task, \.newBodyStream) != nil
    }

    func make(
        _ record: TaskRecord, _ live: LiveAttempt, addresses: [IPAddress], sink: BodySink
    ) -> Indirect<AttemptRequest> {
        let (request, hop) = (record.request, record.hop)
        let tls = self.tls(of: record)
        live.hook = self.awaitsDisposition(record) ? .awaitsHead : .none
        var attempt = AttemptRequest(id: live.id, url: hop.url, sink: sink, tls: tls)
        attempt.method = hop.method
        attempt.headers = self.traced(self.withConditions(self.fields(record), record, tls), record, live)
        attempt.body = self.bodies.upload(of: record)
        attempt.addresses = addresses
        let resume = record.download.partial.resumePoint ?? self.question(record, &attempt.headers)
        attempt.resume = resume
        attempt.connectTimeout = request.options.connectTimeout
        attempt.allowsHTTP2 = request.options.usesHTTP2 && record.attempt.allowsHTTP2
        attempt.usesFreshConnection = record.attempt.needsFreshConnection
        attempt.proxy = record.attempt.proxy
        attempt.credentials = self.credentials(record)
        attempt.userAgent = self.userAgent(record)
        attempt.acceptsCompression = request.options.acceptsCompression && resume == nil
        attempt.bytesPerSecondLimit = request.options.bytesPerSecondLimit.map(Int64.init)
        attempt.awaitsContinue = record.attempt.awaitsContinue
        attempt.awaitsDisposition = live.hook == .awaitsHead
        attempt.bodyObserver = self.bodyObserver(of: record)
        attempt.maxBodyBytes = self.maxBodyBytes(record).map(Int64.init)
        attempt.wireLog = record.task.shared.exchanges?.wire(of: live.number)
        return Indirect(attempt)
    }

    // Asks whether a file that is there has the server's length, and whether the server's body is not newer.
    private func question(_ record: TaskRecord, _ headers: inout [HTTPField]) -> ResumePoint? {
        guard let file = record.download.whole else { return nil }
        let time = HTTPDate.text(WallTime(microseconds: file.modifiedSeconds * 1_000_000))
        headers.append(HTTPField(name: .ifUnmodifiedSince, value: time))
        return ResumePoint(offset: file.size, validator: nil, total: file.size)
    }

    private func tls(of record: TaskRecord) -> Indirect<TLSOptions> {
        let evaluator = record.hop.url.scheme == .https ? self.trustEvaluator(of: record) : nil
        if evaluator == nil, let plain = record.policies.plainTLS { return plain }
        return Indirect(
            record.policies.tls.options(
                for: record.hop.url, showsCertificate: record.hop.keepsCredentials, evaluator: evaluator))
    }

    private func userAgent(_ record: TaskRecord) -> String {
        (record.attempt.headers ?? record.request.headers).first(named: .userAgent) ?? self.configuration.userAgent
    }

    private func maxBodyBytes(_ record: TaskRecord) -> Int? {
        record.request.options.maxBodyBytes ?? self.configuration.maxBodyBytes
    }

    // Adds the conditions for revalidating a stored response.
    private func withConditions(_ fields: [HTTPField], _ record: TaskRecord, _ tls: Indirect<TLSOptions>) -> [HTTPField]
    {
        // A data observer receives a body while it arrives, and a hook decides about a response before its body.
        let isWanted = record.request.options.usesValidators ?? !self.delegate.observesData(record.task)
        guard self.configuration.validators != nil, isWanted,
            self.delegate.hook(record.task, \.disposition) == nil
        else { return fields }
        let context = StoredRequest.Context(
            credentials: self.credentials(record), tls: tls.value, userAgent: self.userAgent(record),
            isDecoded: record.request.options.acceptsCompression)
        let limit: Int? =
            if case .memory(let limit) = record.destination {
                min(limit, self.maxBodyBytes(record) ?? limit)
            } else {
                nil
            }
        return fields + self.revalidator.conditions(record, fields, context, limit: limit)
    }

    /// False if a hook must evaluate the server but could mistake an https proxy's handshake for the server's.
    func canEvaluateTrust(_ record: TaskRecord) -> Bool {
        guard record.attempt.proxy?.scheme == .https, record.hop.url.scheme == .https else { return true }
        return self.delegate.hook(record.task, \.evaluateServerTrust) == nil
            && self.delegate.hook(record.task, \.askServerTrust) == nil
    }

    // The hook that replaces the verification of the server; nil if none exists.
    private func trustEvaluator(of record: TaskRecord) -> TrustEvaluator? {
        if let hook = self.delegate.hook(record.task, \.evaluateServerTrust) { return TrustEvaluator(hook) }
        guard self.delegate.hook(record.task, \.askServerTrust) != nil else { return nil }
        let (verdicts, question) = (record.attempt.trustVerdicts, TrustQuestion())
        record.attempt.trustQuestion = question
        return TrustEvaluator { trust in
            if let verdict = verdicts[trust] { return verdict }
            question.ask(about: trust)
            return .refused("it has not decided yet")
        }
    }

    // True if an attempt's body must wait for a hook.
    private func awaitsDisposition(_ record: TaskRecord) -> Bool {
        guard record.download.partial.resumePoint == nil, record.delegate?.isDispositionKnown != true else {
            return false
        }
        return self.delegate.hook(record.task, \.disposition) != nil
    }

    private func fields(_ record: TaskRecord) -> [HTTPField] {
        let authorization = record.attempt.authentication?.fields(for: record.hop) ?? []
        let own = record.attempt.headers ?? self.headers(record, of: record.hop)
        let fields =
            own.isEmpty
            ? own
            : own.filter { field in
                field.name != .userAgent && !authorization.contains { field.name == $0.name }
            }
        let all = authorization.isEmpty ? fields : fields + authorization
        return record.request.options.usesCookies == false ? all : self.withCookies(all, of: record.hop)
    }

    // The jar's cookies follow the request's own, in one field (RFC 6265 5.4).
    private func withCookies(_ fields: [HTTPField], of hop: Hop) -> [HTTPField] {
        guard let kept = self.configuration.cookies?.field(for: hop.url, at: self.wallTime) else { return fields }
        let own = fields.filter { $0.name == .cookie }.map(\.value)
        guard let field = try? HTTPField("Cookie", (own + [kept]).joined(separator: "; ")) else { return fields }
        return fields.filter { $0.name != .cookie } + [field]
    }

    /// Keeps the cookies that a response sets, including those of a redirect or an error.
    func keepCookies(of end: AttemptEnd, _ record: TaskRecord) {
        guard record.request.options.usesCookies != false, let jar = self.configuration.cookies,
            let head = end.outcome.head
        else { return }
        jar.take(head.fields("Set-Cookie"), from: record.hop.url, at: self.wallTime)
    }

    private func traced(_ fields: [HTTPField], _ record: TaskRecord, _ live: LiveAttempt) -> [HTTPField] {
        record.attempt.span = nil
        guard let span = record.task.handlers?.span else {
            let trace = self.traceFields(record)
            return trace.isEmpty ? fields : fields + trace
        }
        return fields
            + self.fields(of: span, record, live).filter { field in !fields.contains { $0.name == field.name } }
    }

    // The trace fields of the attempt's span; none for another origin, unless redirects are unrestricted.
    private func fields(of span: any TaskSpan, _ record: TaskRecord, _ live: LiveAttempt) -> [HTTPField] {
        let hop = record.hop
        let given = span.fields(
            ofAttempt: live.number,
            TracedRequest(
                task: record.task.id, name: record.request.options.name, method: hop.method,
                url: self.configuration.redaction.text(of: hop.url.text), target: hop.url.target))
        guard hop.keepsCredentials, record.request.ownTraceParent == nil else { return [] }
        record.attempt.span = TraceContext(given)?.parent
        return given
    }

    // The attempt's position in its task's trace.
    private func traceFields(_ record: TaskRecord) -> [HTTPField] {
        guard record.task.trace != nil, record.request.ownTraceParent == nil, record.hop.keepsCredentials,
            let trace = record.request.trace
        else { return [] }
        let span = self.random.spanID()
        record.attempt.span = span
        let state = trace.state.flatMap { try? HTTPField("tracestate", $0) }
        return [try? HTTPField("traceparent", trace.traceParent(from: span)), state].compactMap { $0 }
    }

    /// The request's own fields that also apply to a hop.
    func headers(_ record: TaskRecord, of hop: Hop) -> [HTTPField] {
        if let headers = hop.headers { return headers }
        let first = record.request.firstHop
        if hop === first { return record.request.headers }
        let isSameOrigin = hop.url.origin == first.url.origin
        return record.request.headers.filter { field in
            if !hop.keepsCredentials, !PortableFields.mayCrossOrigins(field.name) { return false }
            if !isSameOrigin, field.name.canonicalName == "host" { return false }
            return hop.keepsBody || !PortableFields.describesBody(field.name)
        }
    }

    private func credentials(_ record: TaskRecord) -> Credentials? {
        record.attempt.authentication?.isGiven == true ? nil : self.ownCredentials(record)
    }

    /// The credentials of the request itself; nil without them, and for another origin.
    func ownCredentials(_ record: TaskRecord) -> Credentials? {
        guard record.hop.keepsCredentials else { return nil }
        return record.request.options.credentials ?? record.request.firstHop.url.credentials
    }

    // The receivers of the body besides its destination: observers and the digest; nil if there are none.
    private func bodyObserver(of record: TaskRecord) -> (any ChunkSink)? {
        let digest = record.request.options.sha256 != nil ? self.bodies.digest(of: record) : nil
        guard self.delegate.observesData(record.task) else { return digest }
        if case .file = record.destination { return digest }
        return self.delegate.makeBodyObserver(record, digest: digest)
    }
}
