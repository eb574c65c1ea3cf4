public import TidegateCore
public import TidegateSession
internal import TidegateTransfer

extension RequestBody {
    /// The body of a form: bytes if it only has data, otherwise a stream that is read during sending.
    init(_ form: MultipartForm) throws(TaskError) {
        let contents = form.contents
        if contents.count == 1, case .data(let bytes) = contents[0], form.throttle == nil {
            self = .data(bytes)
            return
        }
        let reader = try MultipartReader(contents)
        let read: @Sendable () throws -> [UInt8]? = { try reader.read() }
        let stream = UploadStream(length: reader.length, of: form, immediate: reader.isImmediate ? read : nil) {
            try await reader.next()
        }
        self = .stream(form.throttle.map { stream.throttled(bytes: $0.bytes, every: $0.interval) } ?? stream)
    }

    /// The form to send piece by piece; nil for any other body.
    var form: MultipartForm? {
        if case .stream(let stream) = self { stream.source as? MultipartForm } else { nil }
    }

    /// The body compressed (RFC 1952), for a request with `Content-Encoding: gzip`.
    ///
    /// Bytes are compressed immediately, and files and streams in chunks while they are sent. A server that does not
    /// support compression answers 415 (RFC 7694).
    /// - Throws: ``TaskError`` with the reason `fileError` if a file cannot be read.
    public func gzipped() throws(TaskError) -> RequestBody {
        let next: @Sendable () async throws -> [UInt8]?
        switch self {
        case .none: return .none
        case .data(let bytes):
            guard let encoder = GzipEncoder() else {
                throw TaskError(reason: .internal, underlying: "no memory to compress the body")
            }
            return .data(encoder.encode(bytes, isLast: true))
        case .stream(let stream): next = stream.make
        case .file(let path):
            let reader = try MultipartReader([.file(path)])
            next = { try await reader.next() }
        }
        let compressor = UploadCompressor()
        return .stream(UploadStream { try await compressor.next(of: next) })
    }
}

extension MultipartForm {
    /// The form's bytes, for a request that must survive this process; a stream is not among its parts.
    ///
    /// - Throws: A sentence about a file that cannot be read, or about a form of more than `limit` bytes.
    package func encoded(atMost limit: Int) throws -> [UInt8] {
        let reader = try MultipartReader(self.contents)
        var bytes: [UInt8] = []
        while let piece = try reader.read() {
            bytes += piece
            guard bytes.count <= limit else {
                throw TextError("the form has more than \(ByteText(Int64(limit))), too much to be kept with a task")
            }
        }
        return bytes
    }
}

private actor UploadCompressor {
    private let encoder = GzipEncoder()
    private var isOver = false

    func next(of make: @Sendable () async throws -> [UInt8]?) async throws -> [UInt8]? {
        while !self.isOver {
            let chunk = try await make()
            self.isOver = chunk == nil
            guard self.encoder != nil else { throw TextError("no memory to compress the body") }
            let piece = self.encoder?.encode(chunk ?? [], isLast: self.isOver) ?? []
            if !piece.isEmpty { return piece }
        }
        return nil
    }
}

extension TaskOptions {
    /// Options that read the form again when the request is repeated; nil if that is unnecessary or impossible.
    package init?(repeating form: MultipartForm, in body: RequestBody, compressing: Bool = false) {
        guard form.isRepeatable, case .stream = body else { return nil }
        self.init(
            hooks: SessionHooks(newBodyStream: { _ in
                let body = try? RequestBody(form)
                return if case .stream(let stream)? = compressing ? try? body?.gzipped() : body { stream } else { nil }
            }))
    }
}
