internal import FoundationEssentials
public import TidegateCore
public import TidegateSerialization

/// A response that fulfils its client's rules, with its body and its task.
public struct HTTPResult: Sendable {
    /// The task, which is over.
    public let task: TransferTask
    /// The head of the response.
    public let response: TaskResponse
    /// The body.
    public let body: [UInt8]

    private let configuration: HTTPClientConfiguration

    init(_ task: TransferTask, _ response: TaskResponse, _ configuration: HTTPClientConfiguration) {
        self.task = task
        self.response = response
        self.body = task.body()
        self.configuration = configuration
    }

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
