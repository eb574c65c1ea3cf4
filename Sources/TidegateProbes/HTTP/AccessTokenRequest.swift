internal import FoundationEssentials
internal import HTTPTypes
internal import TidegateCore
internal import TidegateHTTP
internal import TidegateSession
internal import TidegateTransfer

/// Requests an access token from an authorization server with the client credentials grant (RFC 6749 4.4), once per
/// probe.
struct AccessTokenRequest: Sendable {
    /// More than any response needs; 512 concurrent probes use at most 32 MiB.
    private static let maxBytes = 1 << 16

    let options: OAuth2Options
    let url: HTTPURL
    let context: ProbeContext
    /// How the request leaves this host.
    var source = ProbeSource()

    /// The field Authorization.
    ///
    /// - Throws: The error in the server's response, or why there is no response.
    func field() async throws(ProbeProblem) -> HTTPField {
        let secret = try ProbeProblem.catching(.fileError, .unknown) {
            try ProbeFile.read(self.options.clientSecret)
        }
        var answer = try await self.ask(with: .header, secret)
        // Servers need not support the header (RFC 6749 2.3.1).
        if let status = answer.head?.status, (400..<500).contains(status) {
            answer = try await self.ask(with: .form, secret)
        }
        if let failure = answer.failure, failure != .httpStatus {
            throw self.error("\(self.name) gives no token: \(answer.text)", ProbeFailureReason(failure))
        }
        guard let head = answer.head, (200..<300).contains(head.status) else {
            throw self.error("\(self.name) answered \(answer.head.map { "\($0.status)" } ?? "nothing")")
        }
        guard case .string(let token)? = (try? JSONValue(parsing: answer.body))?["access_token"], !token.isEmpty,
            HTTPField.isValidValue(token)
        else { throw self.error("the answer of \(self.name) has no access_token") }
        return HTTPField(name: .authorization, value: "Bearer \(token)")
    }

    private func error(_ text: String, _ reason: ProbeFailureReason = .authorizationFailed) -> ProbeProblem {
        ProbeProblem(reason: reason, party: .unknown, text: text)
    }

    private var name: String { "the token server \(self.url.textWithoutQuery)" }

    private enum Credentials { case header, form }

    private func ask(with credentials: Credentials, _ secret: String) async throws(ProbeProblem) -> AttemptOutcome {
        let environment = self.context.environment
        let proxy = self.options.proxy.proxy(for: self.url)
        let host = proxy?.target.host ?? self.url.target.host
        let addresses: [IPAddress]
        switch await environment.addresses(of: host, within: self.context.remaining) {
        case .success(let found): addresses = self.source.usable(found)
        case .failure(let failure):
            throw self.error(
                "\(host) gave no address: \(failure.reason)", failure == .timedOut ? .timedOut : .resolveFailed)
        }
        guard !addresses.isEmpty else {
            throw self.error("\(host) has no address of the family of source_ip_address", .resolveFailed)
        }
        do throws(TextError) {
            let request = try self.request(with: credentials, secret, to: addresses, through: proxy)
            return try await environment.attempts.run(
                request, within: max(.milliseconds(1), self.context.remaining))
        } catch {
            throw self.error(error.description)
        }
    }

    private func request(
        with credentials: Credentials, _ secret: String, to addresses: [IPAddress], through proxy: Proxy?
    ) throws(TextError) -> AttemptRequest {
        var parameters = self.options.parameters.merging(["grant_type": "client_credentials"]) { $1 }
        if !self.options.scopes.isEmpty { parameters["scope"] = self.options.scopes.joined(separator: " ") }
        var headers = [
            HTTPField(name: .contentType, value: "application/x-www-form-urlencoded"),
            HTTPField(name: .accept, value: "application/json"),
        ]
        switch credentials {
        case .header:
            let text = "\(try Self.encoded(self.options.clientID)):\(try Self.encoded(secret))"
            headers.append(
                HTTPField(name: .authorization, value: "Basic \(Data(text.utf8).base64EncodedString())"))
        case .form:
            parameters["client_id"] = self.options.clientID
            parameters["client_secret"] = secret
        }
        var request = AttemptRequest(
            probing: self.url, at: addresses, from: self.source, .memory(limit: Self.maxBytes))
        request.method = "POST"
        request.headers = headers
        request.body = .bytes(Array(try Self.form(parameters).utf8))
        request.tls = try self.options.tls.transferOptions(showsCertificate: true)
        request.proxy = proxy
        request.userAgent = "Tidegate/\(self.context.environment.version)"
        if let name = self.options.tls.serverName { try request.expect(server: name) }
        return request
    }

    private static func form(_ parameters: [String: String]) throws(TextError) -> String {
        try Result { try QueryEncoding().query(of: parameters) }.mapError {
            TextError("the parameters of the token request cannot be encoded: \($0)")
        }.get()
    }

    // A user name or password is encoded like a form value (RFC 6749 2.3.1).
    private static func encoded(_ text: String) throws(TextError) -> String {
        String(try self.form(["v": text]).dropFirst(2))
    }
}
