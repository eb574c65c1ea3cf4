/// The content of a request's body.
public enum RequestBody: Sendable, Hashable {
    /// No body.
    case none
    /// These bytes; at most 16 MiB for a task that must survive its process.
    case data([UInt8])
    /// The bytes of the file at this path; it must not change in the meantime.
    case file(String)
    /// The chunks of the stream, which is read once: a request is repeated only before its first byte was read, or with
    /// another stream.
    case stream(UploadStream)
}

/// The destination of a response's body.
public enum Destination: Sendable, Hashable {
    /// Memory, with at most `limit` bytes; a longer body fails as `tooLarge`.
    ///
    /// A body that ends with its connection, as HTTP/1.0 servers send them, counts as complete although its end cannot
    /// be verified; the same applies to `descriptor` and `discard`.
    case memory(limit: Int)
    /// A file that appears at `path` only when it is complete.
    ///
    /// Symbolic links are followed, unless root finds one in a directory that others can write. A file that is replaced
    /// passes on its owner, permissions and attributes, as far as permitted; a new one gets `permissions`, or 0666 less
    /// the umask. A device, a pipe, a descriptor such as `/dev/fd/3`, or a file that cannot be replaced is written
    /// directly and never continued; a task that outlives its process refuses it.
    ///
    /// `continues` continues the part left by an earlier process, and keeps the part if this task fails. Without a
    /// part, a file that is as long as the server's body, and not older, is complete. A body whose end cannot be
    /// verified fails as `truncated`.
    case file(String, permissions: UInt16? = nil, continues: Bool = false)
    /// An open descriptor, which receives every byte once and in order.
    ///
    /// The caller must keep it open until the task has ended.
    ///
    /// If the body breaks off and the server supports no continuation, the task fails as `truncated`.
    case descriptor(Int32)
    /// The reader of the stream, which receives every byte once, in order and on arrival; the transfer pauses while the
    /// reader does not read.
    ///
    /// If the body breaks off and the server supports no continuation, the task fails as `truncated`.
    case stream(BodyStream)
    /// No destination: the body is read and counted.
    case discard

    /// The file's path; nil for other destinations.
    package var path: String? {
        if case .file(let path, _, _) = self { path } else { nil }
    }

    /// The file's permissions; nil for other destinations or if none were given.
    var permissions: UInt16? {
        if case .file(_, let permissions, _) = self { permissions } else { nil }
    }
}
