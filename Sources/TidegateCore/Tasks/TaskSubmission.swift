/// A task that is submitted to a daemon: the body of `POST /api/v1/tasks` on the control socket.
public struct TaskSubmission: Sendable, Hashable, Codable {
    /// The URL.
    public var url: String
    /// The request method; nil is GET, or POST with a body.
    public var method: String?
    /// The header fields, each `Name: value`.
    public var headers: [String]?
    /// A body as text.
    public var body: String?
    /// A file to send, by its absolute path.
    public var bodyFile: String?
    /// The file that the response's body goes to, by its absolute path; nil reads and counts it only.
    public var output: String?
    /// The file's permissions in octal digits, such as `0640`.
    public var mode: String?
    /// What the body's SHA-256 has to be, in 64 hexadecimal digits.
    public var sha256: String?
    /// A name to show in lists.
    public var name: String?
    /// The caller's own name for the task, which makes the submission repeatable.
    public var key: String?
    /// What is done when the key is known: `keep`, `replace` or `append`.
    public var onDuplicate: String?
    /// Which task gets a connection first if there are not enough; higher goes first.
    public var priority: Int?
    /// True submits the task suspended.
    public var suspended: Bool?
    /// True if the request may be sent again although the first one may have been carried out.
    public var idempotent: Bool?
    /// What attempts wait for, as the command line writes it.
    public var require: [String]?
    /// How long the task waits at the gate.
    public var patienceSeconds: Double?
    /// How long the task may take in all.
    public var deadlineSeconds: Double?
    /// Maximum number of retries.
    public var retries: Int?

    /// A submission of a GET that keeps nothing.
    public init(url: String) { self.url = url }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case url, method, headers, body, bodyFile, output, mode, name, key, onDuplicate, priority, suspended
        case idempotent, require, patienceSeconds, deadlineSeconds, retries, sha256
    }

    /// The members that the object may have.
    public static var members: [String] { CodingKeys.allCases.map(\.rawValue) }
}
