/// What a request's body is made of.
public enum RequestBody: Sendable, Hashable {
    /// No body.
    case none
    /// These bytes; of a task that is to survive its process 16 MiB at most.
    case data([UInt8])
    /// The bytes of the file at this path; it must not change meanwhile.
    case file(String)
    /// What the stream gives; it is read once, so that a request is only repeated before its first byte was read or
    /// with another stream.
    case stream(UploadStream)
}

/// Where a response's body goes.
public enum Destination: Sendable, Hashable {
    /// Into memory, `limit` bytes at most; a longer body fails as `tooLarge`.
    ///
    /// A body that ends with its connection, as HTTP/1.0 servers send them, counts as complete although nothing proves
    /// it; so it is for `descriptor` and `discard`.
    case memory(limit: Int)
    /// Into a file that appears at `path` only when it is whole.
    ///
    /// Without `permissions` the file gets 0666 less the umask. With `continues` a part left by an earlier process is
    /// continued, and kept when this task fails. A body whose end nothing proves fails as `truncated`.
    case file(String, permissions: UInt16? = nil, continues: Bool = false)
    /// Into an open descriptor, in order and no byte twice. The caller keeps it open until the task has ended.
    ///
    /// Where the body breaks off and the server gave nothing to continue it by, the task fails as `truncated`.
    case descriptor(Int32)
    /// To the reader of the stream, as it comes, in order and no byte twice; a reader that does not read pauses the
    /// transfer.
    ///
    /// Where the body breaks off and the server gave nothing to continue it by, the task fails as `truncated`.
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
