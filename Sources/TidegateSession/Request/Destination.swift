/// The content of a request's body.
public enum RequestBody: Sendable, Hashable {
    /// No body.
    case none
    /// These bytes; for a task that must survive its process at most 16 MiB.
    case data([UInt8])
    /// The bytes of the file at this path; it must not change in the meantime.
    case file(String)
    /// The chunks of the stream; it is read once, so a request is repeated only before its first byte was read, or with
    /// another stream.
    case stream(UploadStream)
}

/// The destination of a response's body.
public enum Destination: Sendable, Hashable {
    /// Into memory, `limit` bytes at most; a longer body fails as `tooLarge`.
    ///
    /// A body that ends with its connection, as HTTP/1.0 servers send them, counts as complete although nothing proves
    /// it; the same applies to `descriptor` and `discard`.
    case memory(limit: Int)
    /// Into a file that appears at `path` only when it is whole.
    ///
    /// Without `permissions` the file gets 0666 less the umask. With `continues` a part left by an earlier process is
    /// continued, and kept when this task fails. A body whose end nothing proves fails as `truncated`.
    case file(String, permissions: UInt16? = nil, continues: Bool = false)
    /// Into an open descriptor, in order and no byte twice. The caller keeps it open until the task has ended.
    ///
    /// If the body breaks off and the server gave no means to continue it, the task fails as `truncated`.
    case descriptor(Int32)
    /// To the reader of the stream on arrival, in order and no byte twice; a reader that does not read pauses the
    /// transfer.
    ///
    /// If the body breaks off and the server gave no means to continue it, the task fails as `truncated`.
    case stream(BodyStream)
    /// Nowhere: read and counted.
    case discard

    /// The file's path; nil for all others.
    var path: String? {
        if case .file(let path, _, _) = self { path } else { nil }
    }

    /// The file's permissions; nil for all others, and if none were given.
    var permissions: UInt16? {
        if case .file(_, let permissions, _) = self { permissions } else { nil }
    }
}
