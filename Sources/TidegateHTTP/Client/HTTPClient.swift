public import HTTPTypes
public import TidegateCore
public import TidegateSession

/// Makes requests to one server over a session: takes parameters, returns values.
///
/// Paths are resolved against the base URL (RFC 3986 section 5.2). If the base URL's path does not end with a slash,
/// one is added: with `http://example.com/v1`, `foo` is `/v1/foo`, `/foo` is `/foo`, and an absolute URL stays
/// unchanged.
public final class HTTPClient: Sendable {
    /// The session that makes the tasks.
    public let session: Session
    /// How requests are serialized and responses are decoded.
    public let configuration: HTTPClientConfiguration
    /// The header fields of every request of this client, unless the call sets a field of the same name.
    ///
    /// They take precedence over the session's fields, and may be used from any thread at any time. `Authorization`,
    /// `Cookie` and `Proxy-Authorization` are only sent to the origin (scheme, host and port) of the base URL. A call
    /// with an absolute URL elsewhere only sends those that it sets itself. A client without a base URL sends them
    /// everywhere.
    public let headers = DefaultHeaders()

    private let base: HTTPURL?

    /// A client; without a base URL, every path must be an absolute URL.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the base is not an http or https URL.
    public init(
        baseURL: String? = nil, session: Session, configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) throws(TaskError) {
        self.session = session
        self.configuration = configuration
        self.base = try baseURL.map { text throws(TaskError) in try HTTPClient.base(text) }
    }

    /// The base URL with a slash at the end of its path, without user and password; nil if there is no base URL.
    public var baseURL: String? { self.base?.text }

    // MARK: - Authorization

    /// Adds HTTP Basic authentication (RFC 7617) to every request to the base URL's origin.
    ///
    /// Other origins, named by an absolute URL or reached by a redirect, do not receive it. Without a base URL every
    /// call sends it, but redirects to other origins do not. A call that sets `Authorization` itself sends its own
    /// value.
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the user name contains a colon.
    public func setAuthorization(_ credentials: Credentials) throws(TaskError) {
        guard !credentials.user.contains(":") else {
            throw TaskRequest.invalid("a user's name with a colon cannot be sent in Authorization")
        }
        try self.headers.set("Authorization", to: credentials.basicAuthorization)
    }

    /// Adds a bearer token (RFC 6750) to requests, with the rules of ``setAuthorization(_:)``.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if a header field cannot contain it.
    public func setAuthorization(bearer token: String) throws(TaskError) {
        try self.headers.set("Authorization", to: "Bearer \(token)")
    }

    /// Removes the authorization from future requests.
    public func removeAuthorization() { try? self.headers.set("Authorization", to: nil) }

    // MARK: - Requests

    /// Sends a request and waits for its response; cancelling the Swift task cancels it.
    ///
    /// `progress` is called on the calling task.
    @discardableResult
    public func send(
        _ method: String, _ path: String, _ content: HTTPContent = .none, headers: [HTTPField] = [],
        progress: ((TransferProgress) -> Void)? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        let (request, options) = try self.makeRequest(method, path, content, headers)
        let task = self.session.makeTask(request, options: options)
        return try await self.result(of: task, task.run(showing: progress))
    }

    /// Starts a request, and calls the completion handler once on the shared executor, never before this returns.
    ///
    /// Returns nil if the request cannot be made; the handler is also called in that case.
    @discardableResult
    public func start(
        _ method: String, _ path: String, _ content: HTTPContent = .none, headers: [HTTPField] = [],
        completion: @escaping @Sendable (Result<HTTPResult, HTTPClientError>) -> Void
    ) -> TransferTask? {
        let (request, options): (TaskRequest, TaskOptions?)
        do throws(HTTPClientError) {
            (request, options) = try self.makeRequest(method, path, content, headers)
        } catch {
            Task { completion(.failure(error)) }
            return nil
        }
        let task = self.session.makeTask(
            request, options: options,
            completion: .on { task, result in
                completion(Result { () throws(HTTPClientError) in try self.result(of: task, result) })
            })
        task.resume()
        return task
    }

    private func result(of task: TransferTask, _ result: TaskResult) throws(HTTPClientError) -> HTTPResult {
        guard result.failure == nil || result.failure == .httpStatus, let response = task.response else {
            throw .task(
                result.error ?? TaskError(reason: .internal, underlying: "the task succeeded without a response"))
        }
        let answer = HTTPResult(
            task: task, response: response, body: task.body(), configuration: self.configuration)
        try Result { () throws(ResponseSerializationError) in try answer.received.validate(self.configuration.rules) }
            .mapError(HTTPClientError.response).get()
        return answer
    }

    // MARK: - Making requests

    private func makeRequest(
        _ method: String, _ path: String, _ content: HTTPContent, _ headers: [HTTPField]
    ) throws(HTTPClientError) -> (TaskRequest, TaskOptions?) {
        do {
            let url = try self.resolve(path)
            let serialized = try self.serialize(method, url, content, headers)
            let compresses = self.configuration.compressesBodies
            var request = try TaskRequest(serialized, compressing: compresses)
            if let credentials = url.credentials { request.options.credentials = credentials }
            request.destination = .memory(limit: self.configuration.bodyLimit)
            self.configuration.prepare?(&request)
            guard case .multipart(let form) = content else { return (request, nil) }
            return (request, TaskOptions(repeating: form, in: request.body, compressing: compresses))
        } catch let error as RequestSerializationError {
            throw .request(error)
        } catch let error as TaskError {
            throw .task(error)
        } catch {
            throw .task(TaskError(reason: .internal, underlying: "\(error)"))
        }
    }

    private func serialize(
        _ method: String, _ url: HTTPURL, _ content: HTTPContent, _ headers: [HTTPField]
    ) throws(RequestSerializationError) -> SerializedRequest {
        let isElsewhere = self.base.map { $0.origin != url.origin } ?? false
        let missing = self.headers.all.filter { field in
            !headers.contains { $0.name == field.name } && !(isElsewhere && Self.secrets.contains(field.name))
        }
        var request = SerializedRequest(method: method, url: url.text, headers: headers + missing)
        switch content {
        case .none: break
        case .parameters(let parameters):
            try self.configuration.requestSerializer.serialize(parameters, into: &request)
        case .json(let value): try self.configuration.jsonSerializer.serialize(value, into: &request)
        case .text(let text, let charset): try request.setText(text, in: charset)
        case .multipart(let form): request.body = .multipart(form)
        }
        return request
    }

    // Fields that other origins do not get; the session's header fields are sent to all origins.
    private static let secrets: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]

    private func resolve(_ path: String) throws(TaskError) -> HTTPURL {
        try TaskRequest.valid { () throws(HTTPURLError) in
            guard let base = self.base else { return try HTTPURL(path) }
            return path.isEmpty ? base : try base.resolving(path)
        }
    }

    private static func base(_ text: String) throws(TaskError) -> HTTPURL {
        try TaskRequest.valid { () throws(HTTPURLError) in
            let url = try HTTPURL(text)
            guard !url.path.hasSuffix("/") else { return url }
            let end = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
            return try HTTPURL("\(text[..<end])/\(text[end...])")
        }
    }
}

/// How a client serializes requests and decodes responses.
public struct HTTPClientConfiguration: Sendable {
    /// Serializes `parameters`.
    ///
    /// By default, GET, HEAD and DELETE have them in the query, and all other methods as a form.
    public var requestSerializer: any RequestSerializer = FormRequestSerializer()
    /// Serializes values passed as `json`.
    public var jsonSerializer = JSONRequestSerializer()
    /// The conditions for a response, by default a status from 200 to 299.
    ///
    /// If these rules accept another status, the first 64 KiB of that response's body are kept.
    public var rules = [ResponseRule.success]
    /// Decodes the values of typed calls and of ``HTTPResult/value()``, by default from JSON.
    ///
    /// Its rules apply, except those about the status: ``rules`` have checked that. A single call uses another one with
    /// ``HTTPResult/value(from:)``.
    public var responseSerializer: any ResponseSerializer = JSONResponseSerializer<JSONValue>()
    /// True compresses bodies with gzip, which some servers do not support (RFC 7694).
    public var compressesBodies = false
    /// The maximum size of a response in bytes; a longer one fails as `tooLarge`.
    public var bodyLimit = 16 << 20
    /// Modifies every request before its task is made, such as its timeouts, gate or retries.
    public var prepare: (@Sendable (inout TaskRequest) -> Void)?

    /// The defaults.
    public init() {}
}

/// The content of a request.
public enum HTTPContent: Sendable {
    /// No content, not even an empty form.
    case none
    /// Parameters for the client's request serializer; with nil, its output for no parameters.
    case parameters((any Encodable & Sendable)?)
    /// A value as JSON.
    case json(any Encodable & Sendable)
    /// Text; `text/plain` unless the call has a content type.
    case text(String, charset: Charset = .utf8)
    /// A multipart form, read while it is being sent.
    case multipart(MultipartForm)
}

/// A response that satisfies its client's rules, with its body and its task.
public struct HTTPResult: Sendable {
    /// The finished task.
    public let task: TransferTask
    /// The head of the response.
    public let response: TaskResponse
    /// The body.
    public let body: [UInt8]

    fileprivate let configuration: HTTPClientConfiguration

    /// The response in the form that serializers and rules use.
    public var received: ReceivedResponse {
        ReceivedResponse(
            method: self.task.request.method, status: self.response.status, fields: self.response.fields,
            body: self.body)
    }

    /// The value that a serializer makes of the response; any number of serializers may be used.
    public func value<Value>(
        from serializer: some ResponseSerializer<Value>
    ) throws(ResponseSerializationError) -> Value { try serializer.value(of: self.received) }

    /// The value that the client's ``HTTPClientConfiguration/responseSerializer`` makes of the response.
    public func value() throws(ResponseSerializationError) -> any Sendable {
        let serializer = self.configuration.responseSerializer
        return try serializer.decode(self.checked(by: serializer))
    }

    /// The value of a type that the client's ``HTTPClientConfiguration/responseSerializer`` makes of the response.
    ///
    /// From JSON and property lists, every type can be decoded, and an empty body is nil if the type is an `Optional`.
    /// The other serializers only make their own type.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self
    ) throws(ResponseSerializationError) -> Value {
        let serializer = self.configuration.responseSerializer
        if let own = serializer.serializer(of: type) { return try own.decode(self.checked(by: own)) }
        if let value = try self.value() as? Value { return value }
        throw self.received.error(.mismatch(path: "", problem: "\(Swift.type(of: serializer)) makes no \(type)"))
    }

    private func checked(by serializer: any ResponseSerializer) throws(ResponseSerializationError) -> ReceivedResponse {
        try self.received.validate(serializer.rules.filter { if case .status = $0 { false } else { true } })
        return self.received
    }
}

/// Why a call of a client failed.
public enum HTTPClientError: Error, Sendable, CustomStringConvertible {
    /// The parameters cannot be sent; no task was made.
    case request(RequestSerializationError)
    /// The request could not be made, or no response arrived.
    ///
    /// With the reasons `invalidRequest` and `fileError`, no task was made.
    case task(TaskError)
    /// The response violates a rule or has unexpected content; the error contains it with its body.
    case response(ResponseSerializationError)

    /// One clause without a full stop.
    public var description: String {
        switch self {
        case .request(let error): error.description
        case .task(let error): error.description
        case .response(let error): error.description
        }
    }
}
