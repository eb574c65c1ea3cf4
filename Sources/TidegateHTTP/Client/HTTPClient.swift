public import FoundationEssentials
public import HTTPTypes
public import TidegateCore
public import TidegateSession

/// Makes requests to one server over a session: parameters in, values out.
///
/// Paths are resolved against the base URL (RFC 3986 section 5.2), to whose path a slash is added if it has none at its
/// end: with `http://example.com/v1`, `foo` is `/v1/foo`, `/foo` is `/foo`, and an absolute URL is itself.
public final class HTTPClient: Sendable {
    /// The session that makes the tasks.
    public let session: Session
    /// How requests are written and responses read.
    public let configuration: HTTPClientConfiguration
    /// The header fields that every request of this client gets if the call gives none of that name.
    ///
    /// They go before the session's own, and are read and written by any thread at any time. `Authorization`, `Cookie` and
    /// `Proxy-Authorization` go only to the origin (scheme, host and port) of the base URL: a call of an absolute URL
    /// elsewhere gets none of them but those that it gives itself. A client without a base URL sends them everywhere.
    public let headers = DefaultHeaders()

    private let base: HTTPURL?

    /// A client; without a base URL every path has to be an absolute URL.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the base is no http or https URL.
    public init(
        baseURL: String? = nil, session: Session, configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) throws(TaskError) {
        self.session = session
        self.configuration = configuration
        self.base = try baseURL.map { text throws(TaskError) in try HTTPClient.base(text) }
    }

    /// The base URL with the slash at the end of its path, without user and password; nil without one.
    public var baseURL: String? { self.base?.text }

    // MARK: - Authorization

    /// Authorizes every request to the base URL's origin with HTTP's Basic scheme (RFC 7617).
    ///
    /// Other origins that a call names by an absolute URL, or that a redirect leads to, do not get it; without a base URL
    /// every call does, and redirects to other origins do not. A call that gives `Authorization` itself sends that.
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the user's name has a colon.
    public func setAuthorization(_ credentials: Credentials) throws(TaskError) {
        guard !credentials.user.contains(":") else {
            throw TaskRequest.invalid("a user's name with a colon cannot be sent in Authorization")
        }
        try self.headers.set("Authorization", to: credentials.basicAuthorization)
    }

    /// Authorizes requests with a token (RFC 6750), as ``setAuthorization(_:)`` does with a user.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if a header field cannot carry it.
    public func setAuthorization(bearer token: String) throws(TaskError) {
        try self.headers.set("Authorization", to: "Bearer \(token)")
    }

    /// Authorizes no request any more.
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

    /// Starts a request whose completion handler is called once, on the shared executor and never before this returns.
    ///
    /// Nil if the request cannot be made; the handler is called then, too.
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
        case .multipart(let form): request.body = .multipart(form)
        }
        return request
    }

    // What another origin does not get; header fields of the session go to all.
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

/// How a client writes requests and reads responses.
public struct HTTPClientConfiguration: Sendable {
    /// Writes what is given as `parameters`: by default into the query of GET, HEAD and DELETE, into a form for all
    /// others.
    public var requestSerializer: any RequestSerializer = FormRequestSerializer()
    /// Writes what is given as `json`.
    public var jsonSerializer = JSONRequestSerializer()
    /// What a response has to fulfil, by default a status from 200 to 299.
    ///
    /// Of a response with another status that is accepted here, the first 64 KiB of the body are kept.
    public var rules = [ResponseRule.success]
    /// Reads the values of typed calls.
    public var decoder = JSONDecoder()
    /// True leaves out members and elements of JSON that are `null` before a value is read.
    public var removesNulls = false
    /// True compresses bodies with gzip, which not every server takes (RFC 7694).
    public var compressesBodies = false
    /// How many bytes a response may have; a longer one fails as `tooLarge`.
    public var bodyLimit = 16 << 20
    /// Changes every request before its task is made: its timeouts, its gate, how it is retried.
    public var prepare: (@Sendable (inout TaskRequest) -> Void)?

    /// The defaults.
    public init() {}
}

/// What a request carries.
public enum HTTPContent: Sendable {
    /// Nothing, not even an empty form.
    case none
    /// Parameters, written by the client's request serializer; nil is what that makes of none.
    case parameters((any Encodable & Sendable)?)
    /// A value as JSON.
    case json(any Encodable & Sendable)
    /// A multipart form, read while it is sent.
    case multipart(MultipartForm)
}

/// A response that fulfils its client's rules, with its body and its task.
public struct HTTPResult: Sendable {
    /// The task, which is over.
    public let task: TransferTask
    /// The head of the response.
    public let response: TaskResponse
    /// The body.
    public let body: [UInt8]

    fileprivate let configuration: HTTPClientConfiguration

    /// The response as serializers and rules see it.
    public var received: ReceivedResponse {
        ReceivedResponse(
            method: self.task.request.method, status: self.response.status, fields: self.response.fields,
            body: self.body)
    }

    /// What a serializer makes of the response; any number of them may be asked.
    public func value<Value>(
        from serializer: some ResponseSerializer<Value>
    ) throws(ResponseSerializationError) -> Value { try serializer.value(of: self.received) }

    /// The body, JSON, as a value; nil for an empty one if the type is an `Optional`.
    ///
    /// The status was checked already, and the content type has to be one of JSON.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self
    ) throws(ResponseSerializationError) -> Value {
        var serializer = JSONResponseSerializer(type)
        serializer.rules.removeFirst()
        serializer.decoder = self.configuration.decoder
        serializer.removesNulls = self.configuration.removesNulls
        return try self.value(from: serializer)
    }
}

/// Why a call of a client failed.
public enum HTTPClientError: Error, Sendable, CustomStringConvertible {
    /// The parameters cannot be sent; no task was made.
    case request(RequestSerializationError)
    /// The request could not be made (`invalidRequest`, `fileError`; no task was made then), or no response came.
    case task(TaskError)
    /// The response breaks a rule or is not what was expected; it is in the error, with its body.
    case response(ResponseSerializationError)

    /// One clause without a final full stop.
    public var description: String {
        switch self {
        case .request(let error): error.description
        case .task(let error): error.description
        case .response(let error): error.description
        }
    }
}
