public import HTTPTypes
public import TidegateCore
internal import TidegateTransfer

/// One request, with everything that a task needs to know about it.
public struct TaskRequest: Sendable {
    /// The method, a token such as `GET`.
    public var method: String { self.box.parts.method }
    /// The URL as it was given.
    public var url: String { self.box.parts.url }
    /// The header fields that were given, in order.
    public package(set) var headers: [HTTPField] {
        get { self.box.parts.headers }
        set { self.change { $0.headers = newValue } }
    }
    /// The request's body.
    public package(set) var body: RequestBody {
        get { self.box.parts.body }
        set { self.change { $0.body = newValue } }
    }

    /// The destination of the response's body; by default memory, up to 16 MiB.
    public var destination: Destination {
        get { self.box.parts.destination }
        set { self.change { $0.destination = newValue } }
    }
    /// Limits, policies and the handling of the response.
    public var options: RequestOptions {
        get { self.box.parts.options }
        set { self.change { $0.options = newValue } }
    }

    /// The trace that the request is part of, from its own field `traceparent` or its options; nil if none exists.
    var trace: TraceContext? { self.box.parts.trace }

    /// The field `traceparent` among the header fields.
    var ownTraceParent: String? { self.box.parts.ownTraceParent }

    /// The trace that the request is part of.
    var traceID: TraceID? { self.box.traceID }

    package var address: HTTPURL { self.box.parts.address }
    var firstHop: Hop { self.box.firstHop }

    private var box: RequestBox

    /// True if both are unchanged copies of one request; two separate requests differ even if their values are equal.
    func isSame(as other: TaskRequest) -> Bool { self.box === other.box }

    /// Creates a request.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` and one sentence about the part that cannot be sent.
    public init(
        url: String, method: String = "GET", headers: [HTTPField] = [], body: RequestBody = .none
    ) throws(TaskError) {
        guard HTTPRequest.Method(method) != nil else {
            throw TaskRequest.invalid("\"\(method)\" is not a request method")
        }
        try TaskRequest.check(headers)
        let address = try TaskRequest.valid { () throws(HTTPURLError) in try HTTPURL(url) }
        self.box = RequestBox(
            RequestBox.Parts(method: method, url: url, address: address, body: body, headers: headers))
    }

    /// Makes the download continue where an earlier one ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the data belong to another URL or another file,
    ///   are damaged, or the request is not a plain GET of a file.
    public mutating func resume(from data: ResumeData) throws(TaskError) {
        guard case .file(let path, let permissions, _) = self.destination, self.method == "GET", self.body == .none,
            !self.options.acceptsCompression
        else { throw TaskRequest.invalid("only a download by GET can be resumed") }
        guard data.url == self.address.text else {
            throw TaskRequest.invalid("the resume data belong to \(data.url) and not to \(self.address.text)")
        }
        guard data.file == path else {
            throw TaskRequest.invalid("the resume data belong to \(data.file) and not to \(path)")
        }
        guard data.point.isUsable(isVerified: self.options.sha256 != nil) else {
            throw TaskRequest.invalid("the resume data are damaged")
        }
        self.destination = .file(path, permissions: permissions, continues: true)
        self.options.resuming = data
    }

    /// Creates the request that continues an earlier download where it ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the data are damaged.
    public init(resuming data: ResumeData, headers: [HTTPField] = []) throws(TaskError) {
        try self.init(url: data.url, headers: headers)
        self.destination = .file(data.file)
        try self.resume(from: data)
    }

    mutating func change(_ change: (inout RequestBox.Parts) -> Void) {
        var parts = self.box.parts
        change(&parts)
        self.box = RequestBox(parts)
    }

    /// What the task does with bodies.
    package var kind: TaskKind { self.box.kind }

    /// True if sending the request twice does no more than sending it once (RFC 9110 9.2.2).
    package var isIdempotent: Bool { self.box.isIdempotent }

    /// The problem of the request's gate, retry or TLS policy; nil if all are valid.
    var policyError: ConfigurationValueError? { self.box.policyError }

    static func check(_ headers: [HTTPField]) throws(TaskError) {
        for field in headers {
            // With a wrong length the server would read the rest of this body as the next request.
            guard field.name != .contentLength, field.name != .transferEncoding else {
                throw TaskRequest.invalid("the header \(field.name) follows from the body and cannot be given")
            }
        }
    }

    /// Returns a function's result, with its error converted to that of an invalid request.
    package static func valid<Value, Problem: Error & CustomStringConvertible>(
        _ make: () throws(Problem) -> Value
    ) throws(TaskError) -> Value {
        do throws(Problem) { return try make() } catch { throw self.invalid(error.description) }
    }

    package static func invalid(_ sentence: String) -> TaskError {
        TaskError(reason: .invalidRequest, underlying: sentence)
    }

    /// The same request for another URL, with its own destination.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the URL names no server.
    package func copy(of url: String, to destination: Destination) throws(TaskError) -> TaskRequest {
        let address = try Self.valid { () throws(HTTPURLError) in try HTTPURL(url, near: self.address) }
        var copy = self
        copy.change { ($0.url, $0.address, $0.destination) = (url, address, destination) }
        return copy
    }

    /// Why the file to send cannot be read or the destination cannot be written; nil if both are possible.
    ///
    /// It opens nothing, and makes only the directories that the request asks for.
    package var fileProblem: String? {
        Result { () throws(FileError) in
            if let file = self.bodyFile { _ = try FileIdentity.of(file) }
            _ = try self.paths?.checked(makingDirectories: self.options.createsDirectories)
        }.failure?.description
    }

    /// Continues the file at the destination, which another program left, if the digest of the whole body is known.
    ///
    /// Blocks while it copies the file; a file that cannot be copied is not continued.
    package func adoptFile() {
        guard case .file(_, _, true) = self.destination, self.options.sha256 != nil, self.method == "GET"
        else { return }
        try? self.paths?.checked().adoptDestination(for: self.address.text)
    }

    /// False if the task is confined to directories and the path is below none of them.
    package func allows(_ path: String) -> Bool { FileLocation(path, below: self.options.confinedTo).isAllowed }

    /// The destination of the response's body; nil if it is not written to a file.
    var paths: DownloadPaths? {
        self.destination.path.map { DownloadPaths(destination: $0, below: self.options.confinedTo) }
    }

    /// The file to send; nil for other bodies.
    var bodyFile: FileLocation? {
        if case .file(let path) = self.body { FileLocation(path, below: self.options.confinedTo) } else { nil }
    }

    /// The URL for publication: this is the only place that redacts it.
    func redactedURL(_ redaction: URLRedaction) -> String {
        // The common case is computed once for each URL.
        redaction == URLRedaction() ? self.address.textWithoutQuery : redaction.text(of: self.url)
    }
}
