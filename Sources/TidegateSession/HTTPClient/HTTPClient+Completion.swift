public import HTTPTypes
internal import TidegateCore
internal import TidegateSerialization

// The methods for callers that are not asynchronous.
extension HTTPClient {
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
}
