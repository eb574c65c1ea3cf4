public import TidegateCore
internal import TidegateSerialization
internal import TidegateTransfer

extension RequestBody {
    /// A form's body.
    init(_ form: MultipartForm) throws(TaskError) {
        let contents = form.contents
        if contents.count == 1, case .data(let bytes) = contents[0], form.throttle == nil {
            self = .data(bytes)
        } else {
            self = .stream(try UploadStream(form))
        }
    }
}

extension RequestBody {
    /// The body compressed (RFC 1952), for a request with `Content-Encoding: gzip`.
    ///
    /// Bytes are compressed at once, files and streams while they are sent, in chunks. Not every server takes that: one
    /// that does not answers 415 (RFC 7694).
    /// - Throws: ``TaskError`` with the reason `fileError` if a file cannot be read.
    public func gzipped() throws(TaskError) -> RequestBody {
        switch self {
        case .none: return .none
        case .data(let bytes):
            guard let encoder = GzipEncoder() else {
                throw TaskError(reason: .internal, underlying: "no memory to compress the body")
            }
            return .data(encoder.encode(bytes, isLast: true))
        case .stream(let stream): return .stream(stream.gzipped())
        case .file(let path):
            do throws(FileError) {
                let reader = try MultipartReader([.file(path)])
                return .stream(UploadStream { try await reader.next() }.gzipped())
            } catch {
                throw TaskError(reason: error.failure, underlying: error.description)
            }
        }
    }
}

extension UploadStream {
    /// A form's body, read while it is sent.
    convenience init(_ form: MultipartForm) throws(TaskError) {
        do throws(FileError) {
            let reader = try MultipartReader(form.contents)
            let next: @Sendable () async throws -> [UInt8]? = { try await reader.next() }
            guard let throttle = form.throttle else {
                let read: @Sendable () throws -> [UInt8]? = { try reader.read() }
                self.init(
                    length: reader.length, form: form, immediate: reader.isImmediate ? read : nil, next: next)
                return
            }
            let pieces = UploadStream(length: reader.length, next: next)
                .throttled(bytes: throttle.bytes, every: throttle.interval)
            self.init(length: reader.length, form: form, next: pieces.make)
        } catch {
            throw TaskError(reason: error.failure, underlying: error.description)
        }
    }
}
