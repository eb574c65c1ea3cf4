public import HTTPTypes
public import TidegateCore
internal import TidegateSerialization

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

    /// The base URL with the slash at the end of its path, without user and password; nil if there is none.
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
        await withTaskCancellationHandler {
            if let progress {
                // Read before it starts, so that the first update is not missed.
                let updates = task.progress
                task.resume()
                for await update in updates { progress(update) }
            }
            task.resume()
            _ = await task.result()
        } onCancel: {
            task.cancel()
        }
        return try await self.result(of: task, task.result())
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
                do throws(HTTPClientError) {
                    completion(.success(try self.result(of: task, result)))
                } catch {
                    completion(.failure(error))
                }
            })
        task.resume()
        return task
    }

    private func result(of task: TransferTask, _ result: TaskResult) throws(HTTPClientError) -> HTTPResult {
        guard result.failure == nil || result.failure == .httpStatus, let response = task.response else {
            throw .task(
                result.error ?? TaskError(reason: .internal, underlying: "the task succeeded without a response"))
        }
        let answer = HTTPResult(task, response, self.configuration)
        do throws(ResponseSerializationError) {
            try answer.received.validate(self.configuration.rules)
        } catch {
            throw .response(error)
        }
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
            guard case .multipart(let form) = content, form.isRepeatable, case .stream = request.body else {
                return (request, nil)
            }
            let again = SessionHooks(newBodyStream: { _ in
                guard case .stream(let stream)? = try? TaskRequest(serialized, compressing: compresses).body else {
                    return nil
                }
                return stream
            })
            return (request, TaskOptions(hooks: again))
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
