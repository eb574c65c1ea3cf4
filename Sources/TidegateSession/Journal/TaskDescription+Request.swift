internal import FoundationEssentials
package import TidegateCore
internal import TidegateTransfer

extension TaskDescription {
    /// The largest body that the journal itself keeps: 16 MiB; larger ones belong into files.
    static let bodyLimit = 16 << 20

    /// Describes a request; looks at its file, so that another content later is noticed.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` or `fileError` and one sentence, where the request
    ///   cannot outlive its process.
    package init(_ request: TaskRequest, key: String?) throws(TaskError) {
        if let error = request.policyError { throw TaskDescription.refusal(error.description) }
        self.init(
            url: request.url, method: request.method, headers: request.headers,
            body: try TaskDescription.body(of: request), destination: try TaskDescription.place(of: request), key: key,
            options: request.options)
    }

    /// The request again.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where this version would not accept it.
    package func request() throws(TaskError) -> TaskRequest {
        guard self.body != .removed else { throw TaskDescription.refusal("the task is over, and its body is not kept") }
        var request = try TaskRequest(
            url: self.url, method: self.method, headers: self.headers, body: self.requestBody)
        request.destination = self.requestDestination
        request.options = self.options
        if let error = request.policyError { throw TaskDescription.refusal(error.description) }
        return request
    }

    private var requestBody: RequestBody {
        switch self.body {
        case .none, .removed: .none
        case .data(let data): .data([UInt8](data))
        case .file(let path, _): .file(path)
        }
    }

    private var requestDestination: Destination {
        switch self.destination {
        case .memory(let limit): .memory(limit: limit)
        case .file(let path, let permissions): .file(path, permissions: permissions)
        case .discard: .discard
        }
    }

    private static func body(of request: TaskRequest) throws(TaskError) -> Body {
        switch request.body {
        case .none: return .none
        case .stream: throw self.refusal("a stream does not survive its process")
        case .data(let bytes):
            guard bytes.count <= TaskDescription.bodyLimit else {
                throw self.refusal("the body has more than \(TaskDescription.bodyLimit >> 20) MiB: give it as a file")
            }
            return .data(Data(bytes))
        case .file(let path):
            guard path.hasPrefix("/") else { throw self.refusal("\"\(path)\" is not an absolute path") }
            do {
                return .file(path, try FileIdentity.of(FileLocation(path, below: request.options.confinedTo)))
            } catch {
                throw TaskError(reason: .fileError, underlying: error.description)
            }
        }
    }

    private static func place(of request: TaskRequest) throws(TaskError) -> Place {
        switch request.destination {
        case .memory(let limit): return .memory(limit: limit)
        case .discard: return .discard
        case .stream: throw self.refusal("a stream does not survive its process")
        case .descriptor: throw self.refusal("an open descriptor does not survive its process")
        case .file(let path, let permissions, _):
            guard path.hasPrefix("/") else { throw self.refusal("\"\(path)\" is not an absolute path") }
            if let obstacle = request.paths?.obstacle() {
                throw TaskError(reason: .fileError, underlying: obstacle)
            }
            return .file(path, permissions: permissions)
        }
    }

    private static func refusal(_ sentence: String) -> TaskError {
        TaskError(reason: .invalidRequest, underlying: sentence)
    }
}
