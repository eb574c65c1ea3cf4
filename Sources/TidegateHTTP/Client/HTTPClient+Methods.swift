public import HTTPTypes
public import TidegateCore
public import TidegateSession

// One method for each HTTP method.
extension HTTPClient {
    /// Called on the calling task while bodies are transferred.
    public typealias ProgressHandler = (TransferProgress) -> Void

    /// GET, by default with the parameters in the query.
    @discardableResult
    public func get(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("GET", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// Like ``get(_:parameters:headers:progress:)``, but returns a value: from JSON, unless the client has another
    /// response serializer.
    public func get<Value: Decodable & Sendable>(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        as type: Value.Type, progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> Value {
        try self.decode(type, try await self.get(path, parameters: parameters, headers: headers, progress: progress))
    }

    /// DELETE, by default with the parameters in the query.
    @discardableResult
    public func delete(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("DELETE", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// HEAD, with the parameters in the query; the result has no body.
    @discardableResult
    public func head(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = []
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("HEAD", path, .parameters(parameters), headers: headers)
    }

    /// POST, by default with the parameters as a form.
    @discardableResult
    public func post(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("POST", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// POST with a value as JSON.
    @discardableResult
    public func post(
        _ path: String, json: any Encodable & Sendable, headers: [HTTPField] = [], progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("POST", path, .json(json), headers: headers, progress: progress)
    }

    /// Like ``post(_:json:headers:progress:)``, but returns a value: from JSON, unless the client has another
    /// response serializer.
    public func post<Value: Decodable & Sendable>(
        _ path: String, json: any Encodable & Sendable, headers: [HTTPField] = [],
        as type: Value.Type, progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> Value {
        try self.decode(type, try await self.post(path, json: json, headers: headers, progress: progress))
    }

    /// PUT, by default with the parameters as a form.
    @discardableResult
    public func put(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("PUT", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// PUT with a value as JSON.
    @discardableResult
    public func put(
        _ path: String, json: any Encodable & Sendable, headers: [HTTPField] = [], progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("PUT", path, .json(json), headers: headers, progress: progress)
    }

    /// Like ``put(_:json:headers:progress:)``, but returns a value: from JSON, unless the client has another
    /// response serializer.
    public func put<Value: Decodable & Sendable>(
        _ path: String, json: any Encodable & Sendable, headers: [HTTPField] = [],
        as type: Value.Type, progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> Value {
        try self.decode(type, try await self.put(path, json: json, headers: headers, progress: progress))
    }

    /// PATCH, by default with the parameters as a form.
    @discardableResult
    public func patch(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("PATCH", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// PATCH with a value as JSON.
    @discardableResult
    public func patch(
        _ path: String, json: any Encodable & Sendable, headers: [HTTPField] = [], progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("PATCH", path, .json(json), headers: headers, progress: progress)
    }

    /// POST with a multipart form.
    @discardableResult
    public func post(
        _ path: String, multipart: MultipartForm, headers: [HTTPField] = [], progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("POST", path, .multipart(multipart), headers: headers, progress: progress)
    }

    // MARK: - For synchronous callers

    /// Called once on the shared executor when a call is over.
    public typealias CompletionHandler = @Sendable (Result<HTTPResult, HTTPClientError>) -> Void

    /// Like ``get(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler also reports.
    @discardableResult
    public func get(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("GET", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// Like ``head(_:parameters:headers:)``; nil if the request cannot be made, which the handler also reports.
    @discardableResult
    public func head(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("HEAD", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// Like ``post(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler also
    /// reports.
    @discardableResult
    public func post(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("POST", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// Like ``put(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler also reports.
    @discardableResult
    public func put(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("PUT", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// Like ``patch(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler also
    /// reports.
    @discardableResult
    public func patch(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("PATCH", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// Like ``delete(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler also
    /// reports.
    @discardableResult
    public func delete(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("DELETE", path, .parameters(parameters), headers: headers, completion: completion)
    }

    // MARK: - Values

    private func decode<Value: Decodable & Sendable>(
        _ type: Value.Type, _ result: HTTPResult
    ) throws(HTTPClientError) -> Value {
        try Result { () throws(ResponseSerializationError) in try result.decoded(as: type) }
            .mapError(HTTPClientError.response).get()
    }
}
