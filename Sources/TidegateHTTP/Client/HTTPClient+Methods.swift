public import HTTPTypes
public import TidegateCore
public import TidegateSession

// A method for each of HTTP's.
extension HTTPClient {
    /// What is called while bodies move, on the calling task.
    public typealias ProgressHandler = (TransferProgress) -> Void

    /// GET, by default with the parameters in the query.
    @discardableResult
    public func get(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        progress: ProgressHandler? = nil
    ) async throws(HTTPClientError) -> HTTPResult {
        try await self.send("GET", path, .parameters(parameters), headers: headers, progress: progress)
    }

    /// As ``get(_:parameters:headers:progress:)``, with the value of the JSON that came.
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

    /// As ``post(_:json:headers:progress:)``, with the value of the JSON that came.
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

    /// As ``put(_:json:headers:progress:)``, with the value of the JSON that came.
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

    // MARK: - For callers that are not asynchronous

    /// What is called once when a call is over, on the shared executor.
    public typealias CompletionHandler = @Sendable (Result<HTTPResult, HTTPClientError>) -> Void

    /// As ``get(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler learns, too.
    @discardableResult
    public func get(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("GET", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// As ``head(_:parameters:headers:)``; nil if the request cannot be made, which the handler learns, too.
    @discardableResult
    public func head(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("HEAD", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// As ``post(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler learns, too.
    @discardableResult
    public func post(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("POST", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// As ``put(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler learns, too.
    @discardableResult
    public func put(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("PUT", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// As ``patch(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler learns, too.
    @discardableResult
    public func patch(
        _ path: String, parameters: (any Encodable & Sendable)? = nil, headers: [HTTPField] = [],
        completion: @escaping CompletionHandler
    ) -> TransferTask? {
        self.start("PATCH", path, .parameters(parameters), headers: headers, completion: completion)
    }

    /// As ``delete(_:parameters:headers:progress:)``; nil if the request cannot be made, which the handler learns, too.
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
