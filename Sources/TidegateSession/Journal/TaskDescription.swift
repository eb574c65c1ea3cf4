package import FoundationEssentials
package import HTTPTypes
package import TidegateCore
internal import TidegateTransfer

/// A submitted request in a form that survives its process.
///
/// It contains every part of a ``TaskRequest`` that means the same in another process.
package struct TaskDescription: Sendable, Hashable {
    package let url: String
    package let method: String
    package let headers: [HTTPField]
    package let body: Body
    package let destination: Place
    /// The caller's own key for the task; nil if duplicates are allowed.
    package let key: String?
    let options: RequestOptions

    /// A name for the task in lists.
    package var name: String? { self.options.name }

    /// The body of a request.
    package enum Body: Sendable, Hashable, Codable {
        /// No body.
        case none
        /// Bytes, kept in the journal itself.
        case data(Data)
        /// A file, as it was when the task was accepted.
        case file(String, FileIdentity)
        /// A body that was removed when the task ended.
        case removed
    }

    /// The destination of a response's body.
    package enum Place: Sendable, Hashable, Codable {
        /// Memory: lost with the process, and then fetched again.
        case memory(limit: Int)
        /// Into a file.
        case file(String, permissions: UInt16?)
        /// No destination: the body is discarded.
        case discard
    }
}

extension TaskDescription: Codable {
    private enum CodingKeys: CodingKey {
        case url, method, headers, body, destination, key
    }

    /// Decodes one object: the options are siblings of the other members.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.url = try members.decode(String.self, forKey: .url)
        self.method = try members.decode(String.self, forKey: .method)
        self.headers = try members.decode([HTTPField].self, forKey: .headers)
        self.body = try members.decode(Body.self, forKey: .body)
        self.destination = try members.decode(Place.self, forKey: .destination)
        self.key = try members.decodeIfPresent(String.self, forKey: .key)
        self.options = try RequestOptions(from: decoder)
    }

    /// Encodes one object.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.url, forKey: .url)
        try members.encode(self.method, forKey: .method)
        try members.encode(self.headers, forKey: .headers)
        try members.encode(self.body, forKey: .body)
        try members.encode(self.destination, forKey: .destination)
        try members.encodeIfPresent(self.key, forKey: .key)
        try self.options.encode(to: encoder)
    }
}

extension TaskDescription {
    // MARK: - What the journal keeps after the end of a task

    // Fields whose values are not secret.
    private static let shownFields: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .contentEncoding, .contentLanguage, .contentType,
        .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifUnmodifiedSince, .range, .userAgent,
    ]

    /// The description without the body, credentials, the URL's query and values of header fields that may be secret.
    package var redacted: TaskDescription {
        var options = RequestOptions()
        options.name = self.options.name
        options.priority = self.options.priority
        options.confinedTo = self.options.confinedTo
        return TaskDescription(
            url: URLRedaction().text(of: self.url), method: self.method,
            headers: self.headers.map { field in
                Self.shownFields.contains(field.name) ? field : HTTPField(name: field.name, value: "redacted")
            },
            body: self.body == .none ? .none : .removed, destination: self.destination, key: self.key,
            options: options)
    }

    /// The kind of the task.
    package var kind: TaskKind {
        if self.body != .none { return .upload }
        return self.file == nil ? .data : .download
    }

    /// The file that receives the response's body; nil if it goes elsewhere.
    package var file: String? {
        if case .file(let path, _) = self.destination { path } else { nil }
    }

    // MARK: - Requests

    /// The largest body that the journal itself keeps, 16 MiB; larger ones must be files.
    static let bodyLimit = 16 << 20

    /// Describes a request; records its file's identity, so that a later change is detected.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` or `fileError` and one sentence, if the request cannot
    ///   outlive its process.
    package init(_ request: TaskRequest, key: String?) throws(TaskError) {
        if let error = request.policyError { throw TaskRequest.invalid(error.description) }
        self.init(
            url: request.url, method: request.method, headers: request.headers,
            body: try TaskDescription.body(of: request), destination: try TaskDescription.place(of: request), key: key,
            options: request.options)
    }

    /// Rebuilds the request.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if this version does not accept it.
    package func request() throws(TaskError) -> TaskRequest {
        guard self.body != .removed else { throw TaskRequest.invalid("the task has ended; its body is not kept") }
        var request = try TaskRequest(url: self.url, method: self.method, headers: self.headers, body: self.requestBody)
        request.destination = self.requestDestination
        request.options = self.options
        if let error = request.policyError { throw TaskRequest.invalid(error.description) }
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
        case .stream: throw TaskRequest.invalid("a stream does not survive its process")
        case .data(let bytes):
            guard bytes.count <= TaskDescription.bodyLimit else {
                throw TaskRequest.invalid(
                    "the body has more than \(TaskDescription.bodyLimit >> 20) MiB: give it as a file")
            }
            return .data(Data(bytes))
        case .file(let path):
            guard path.hasPrefix("/") else { throw TaskRequest.invalid("\"\(path)\" is not an absolute path") }
            let file = FileLocation(path, below: request.options.confinedTo)
            let identity = Result { () throws(FileError) in try FileIdentity.of(file) }
                .mapError { TaskError(reason: .fileError, underlying: $0.description) }
            return .file(path, try identity.get())
        }
    }

    private static func place(of request: TaskRequest) throws(TaskError) -> Place {
        switch request.destination {
        case .memory(let limit): return .memory(limit: limit)
        case .discard: return .discard
        case .stream: throw TaskRequest.invalid("a stream does not survive its process")
        case .descriptor: throw TaskRequest.invalid("an open descriptor does not survive its process")
        case .file(let path, let permissions, _):
            guard path.hasPrefix("/") else { throw TaskRequest.invalid("\"\(path)\" is not an absolute path") }
            do { _ = try request.paths?.checked(onlyFiles: true) } catch {
                throw TaskError(reason: .fileError, underlying: error.description)
            }
            return .file(path, permissions: permissions)
        }
    }
}
