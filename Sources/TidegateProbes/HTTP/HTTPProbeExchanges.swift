internal import HTTPTypes
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateSession
internal import TidegateTransfer

/// One request with its result.
struct HTTPProbeExchange: Sendable {
    /// The destination of a request.
    struct Destination {
        let addresses: [IPAddress]
        /// The duration of the name lookup; nil without one.
        let lookupTime: Duration?
        /// The verdict for the address when the request was made.
        let verdict: Verdict
        /// The proxy; nil for none.
        var proxy: Proxy?
    }

    let destination: Destination
    let outcome: AttemptOutcome
    /// The body; nil if it is not examined.
    let body: ExaminedBody?
}

/// The requests of one probe: the first one, and those that follow redirects.
struct HTTPProbeExchanges {
    private typealias Destination = HTTPProbeExchange.Destination

    /// blackbox_exporter's limit.
    private static let maxRedirects = 10

    let probe: HTTPProbe
    let first: HTTPURL
    let body: AttemptBody
    private let jar = CookieJar()
    /// The field with the access token, once obtained.
    private(set) var token: HTTPField?
    /// The exchanges so far, in order.
    private(set) var all: [HTTPProbeExchange] = []
    /// The number of responses that were redirects.
    private(set) var redirects = 0
    /// True if the last response is a redirect that was not followed.
    private(set) var endsWithRedirect = false

    /// Makes the requests.
    ///
    /// - Throws: Why a request could not be made, unless the findings already contain it.
    mutating func run(_ findings: inout ProbeFindings) async throws(ProbeProblem) {
        let options = self.probe.options
        if let name = options.source.interface, NetworkInterface.index(of: name) == nil {
            throw ProbeProblem(reason: .connectFailed, text: "there is no interface \(name)")
        }
        var known: ProbeAddress?
        let isProxied = options.proxy.proxy(for: self.first) != nil
        if !isProxied || !options.skipsResolveWithProxy {
            known = try await self.probe.context.address(
                of: self.first.target, preferring: options.family, from: isProxied ? nil : options.source,
                timing: .httpDuration, &findings)
        }
        for phase in PhaseDurations.Phase.allCases where phase != .resolve {
            findings.add(.httpDuration, 0, labels: [phase.label])
        }
        if let oauth2 = options.oauth2, let url = oauth2.tokenURL {
            self.token = try await AccessTokenRequest(
                options: oauth2, url: url, context: self.probe.context, source: options.source
            ).field()
            findings.note("Received an access token")
        }
        var hop = Hop(method: options.method, url: self.first, headers: options.headers)
        while true {
            let destination = try await self.destination(of: hop, known, &findings)
            let exchange = try await self.exchange(hop, destination, &findings)
            known = nil
            self.all.append(exchange)
            guard let next = try self.next(after: hop, exchange, &findings) else { return }
            // The last body counts. One that is held while the next waits for memory would be in its way.
            exchange.body?.release()
            hop = next
        }
    }

    // MARK: - Redirects

    // The hop that a redirect leads to; nil if the response is the last one.
    private mutating func next(
        after hop: Hop, _ exchange: HTTPProbeExchange, _ findings: inout ProbeFindings
    ) throws(ProbeProblem) -> Hop? {
        let (outcome, destination) = (exchange.outcome, exchange.destination)
        // What became of its body does not matter.
        guard let head = outcome.head, outcome.failure != .timedOut, RedirectRule.isRedirect(head.status),
            let location = head.field("Location")
        else { return nil }
        self.redirects += 1
        self.endsWithRedirect = true
        guard self.probe.options.followsRedirects, self.redirects <= Self.maxRedirects else {
            findings.note("Not following redirect", [("location", Self.shown(location))])
            return nil
        }
        findings.note("Received redirect", [("location", Self.shown(location))])
        do throws(RedirectError) {
            let server = destination.proxy == nil ? outcome.connectedTo ?? destination.addresses.first : nil
            let next = try self.redirectRule.follow(head.status, to: location, from: hop, answeredBy: server)
            self.endsWithRedirect = false
            return next.url.origin == hop.url.origin ? next : next.withoutSecrets
        } catch {
            throw self.problem(error)
        }
    }

    private var redirectRule: RedirectRule {
        RedirectRule(
            policy: .free, reach: self.probe.context.policy.allowsPrivateRedirects ? .everyHost : .publicHosts)
    }

    private func problem(_ error: RedirectError) -> ProbeProblem {
        let text = error.sentence(privateAllowedBy: "probe_targets.allow_private_redirects")
        guard case .refused = error else { return ProbeProblem(reason: .protocolError, party: .theirs, text: text) }
        return ProbeProblem(reason: .targetDenied, text: text)
    }

    // Without a password that it may have.
    private static func shown(_ location: String) -> String { Secrets.url(location) }

    // MARK: - One request

    // Nil without a destination, for a reason recorded in `findings`.
    private func destination(
        of hop: Hop, _ known: ProbeAddress?, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> Destination {
        let environment = self.probe.environment
        let proxy = self.probe.options.proxy.proxy(for: hop.url)
        if let known, proxy == nil {
            return Destination(addresses: [known.address], lookupTime: known.lookupTime, verdict: known.verdict)
        }
        let host = proxy?.target.host ?? hop.url.target.host
        let start = environment.time.monotonic()
        let source = self.probe.source
        let addresses: [IPAddress]
        switch await environment.addresses(of: host, within: self.probe.context.remaining) {
        case .success(let found): addresses = source.usable(found)
        case .failure(let failure): throw environment.problem(failure, of: host)
        }
        guard let first = addresses.first else {
            let family = source.address.map { "\($0.family.name) " } ?? ""
            throw ProbeProblem(
                reason: .resolveFailed,
                text: "\(host) has no \(family)address, and source_ip_address allows no other")
        }
        let route = await self.probe.context.route(to: first, from: source)
        if let refusal = self.refusal(of: hop, at: proxy == nil ? addresses : nil, route.verdict) {
            throw ProbeProblem(reason: .targetDenied, text: refusal)
        }
        if proxy == nil {
            do { try self.redirectRule.check(addresses, of: hop) } catch { throw self.problem(error) }
        }
        let lookupTime = proxy == nil ? environment.time.monotonic() - start : nil
        (findings.address, findings.redirectedPort) = (first, hop.url.target.port)
        if let problem = route.problem(to: first) { throw problem }
        return Destination(addresses: addresses, lookupTime: lookupTime, verdict: route.verdict, proxy: proxy)
    }

    // Behind a proxy its own rules apply to resolved addresses, so only the target itself is checked.
    private func refusal(of hop: Hop, at addresses: [IPAddress]?, _ verdict: Verdict) -> String? {
        let (target, policy) = (hop.url.target, self.probe.context.policy)
        var credentials = self.probe.context.credentials
        credentials.hasCredentials = credentials.hasCredentials && hop.keepsCredentials
        credentials.isSafe = HTTPProbeOptions.isSafe(hop.method)
        let candidates: [IPAddress?] = if let addresses { addresses } else { [target.address] }
        return candidates.lazy.compactMap { address in
            policy.refusal(of: target.host, at: address)
                ?? credentials.refusal(of: target, at: address, addresses == nil ? .unknown : verdict)
        }.first
    }

    private func exchange(
        _ hop: Hop, _ destination: Destination, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> HTTPProbeExchange {
        let environment = self.probe.environment
        findings.note("Making HTTP request", [("url", Secrets.path(hop.url.textWithoutQuery)), ("method", hop.method)])
        var request = try ProbeProblem.catching(.fileError) { try self.request(hop, destination) }
        let options = self.probe.options
        let body =
            options.examinesBody
            ? ExaminedBody(limit: options.maxExaminedBytes, budget: self.probe.context.bodies) : nil
        if let body { (request.sink, request.maxBodyBytes) = (.chunks(body), Int64(body.limit)) }
        do throws(TextError) {
            let limit = max(.milliseconds(1), self.probe.context.remaining)
            let outcome = try await environment.attempts.run(request, within: limit) { body?.start($0) }
            body?.finish()
            if let head = outcome.head {
                self.jar.take(head.fields("Set-Cookie"), from: hop.url, at: environment.time.wall())
                findings.note("Received HTTP response", [("status_code", "\(head.status)")])
            }
            return HTTPProbeExchange(destination: destination, outcome: outcome, body: body)
        } catch {
            body?.release()
            throw ProbeProblem(reason: .internal, text: error.description)
        }
    }

    private func request(_ hop: Hop, _ destination: Destination) throws(TextError) -> AttemptRequest {
        let options = self.probe.options
        let headers = try self.headers(of: hop)
        var request = AttemptRequest(
            probing: hop.url, at: destination.addresses, from: self.probe.source, .discard)
        request.method = hop.method
        request.headers = headers.filter { $0.name != .userAgent }
        if hop.keepsBody { request.body = self.body }
        request.allowsHTTP2 = options.allowsHTTP2
        request.tls = try options.tls.transferOptions(showsCertificate: hop.keepsCredentials)
        request.proxy = destination.proxy
        request.credentials = hop.keepsCredentials ? hop.url.credentials : nil
        request.userAgent = headers.first(named: .userAgent) ?? "Tidegate/\(self.probe.environment.version)"
        request.acceptsCompression = options.coding == .br
        request.maxBodyBytes = options.maxBodyBytes.map(Int64.init)
        request.bodyCoding = options.coding
        request.proxyHeaders = try options.proxyHeaders.map { header throws(TextError) in try header.field() }
        request.wantsCertificateChain = true
        // Another server has another name.
        if hop.url.isOfServer(of: self.first), let name = options.tls.serverName ?? options.hostHeader {
            try request.expect(server: name)
        }
        return request
    }

    private func headers(of hop: Hop) throws(TextError) -> [HTTPField] {
        let options = self.probe.options
        var headers = hop.headers ?? []
        if hop.keepsCredentials {
            headers += try options.secretHeaders.map { header throws(TextError) in try header.field() }
            if headers.first(named: .authorization) == nil, let field = try options.authorization?.field() ?? self.token
            {
                headers.append(field)
            }
        }
        if let coding = options.coding, coding != .identity, headers.first(named: .acceptEncoding) == nil {
            headers.append(HTTPField(name: .acceptEncoding, value: coding.rawValue))
        }
        if let cookies = self.jar.field(for: hop.url, at: self.probe.environment.time.wall()),
            headers.first(named: .cookie) == nil
        {
            headers.append(HTTPField(name: .cookie, value: cookies))
        }
        return headers
    }
}

extension Hop {
    /// This hop without the secrets that only the first origin may see.
    fileprivate var withoutSecrets: Hop {
        Hop(
            method: self.method, url: self.url, keepsBody: self.keepsBody, keepsCredentials: false,
            isFromPublicServer: self.isFromPublicServer,
            headers: self.headers?.filter { PortableFields.mayCrossOrigins($0.name) })
    }
}

extension HTTPProbeOptions {
    /// How much of a body is kept for expressions, if the module sets no limit.
    private static let mostExaminedBytes = 16 * 1024 * 1024

    var maxExaminedBytes: Int { self.maxBodyBytes ?? Self.mostExaminedBytes }
}

extension HTTPURL {
    /// True if it leads to the same server as another URL, possibly with the other scheme and its port.
    fileprivate func isOfServer(of other: HTTPURL) -> Bool {
        guard self.target.host == other.target.host else { return false }
        return self.target == other.target
            || self.target.port == self.scheme.port && other.target.port == other.scheme.port
    }
}

extension AttemptRequest {
    /// A request on its own connection, with a response that the probe examines.
    init(probing url: HTTPURL, at addresses: [IPAddress], from source: ProbeSource, _ sink: BodySink) {
        self.init(id: AttemptID(rawValue: 0), url: url, sink: sink)
        self.addresses = addresses
        self.source = AttemptSource(address: source.address, interface: source.interface)
        // The probe's own time limit applies.
        self.connectTimeout = .seconds(3600)
        self.usesFreshConnection = true
        self.takesAnyStatus = true
    }

    /// Makes the handshake of an https request name `server`, and requires a certificate for that name or address.
    ///
    /// The destination and the requested resource do not change.
    mutating func expect(server: String) throws(TextError) {
        let (url, port) = (self.url, self.url.target.port)
        guard url.scheme == .https else { return }
        let name: Target
        do throws(TargetError) {
            let host = try Target(server)
            name =
                if let address = host.address { Target(address: address, port: port) } else {
                    try Target("\(host.host):\(port ?? url.scheme.port)")
                }
        } catch {
            throw TextError("invalid server name \"\(server)\": \(error)")
        }
        guard name != url.target else { return }
        // libcurl takes the handshake's name from the URL, and would also use it for the Host field.
        if !self.headers.contains(where: { $0.name.canonicalName == "host" }) {
            self.headers.append(try HTTPField(line: "Host: \(url.origin.authority)"))
        }
        self.url = url.at(name)
        self.connectsTo = url.target
    }
}
