/// A task that is submitted to a daemon: the body of `POST /api/v1/tasks` on the control socket.
package struct TaskSubmission: Sendable, Hashable, Codable {
    /// The URL.
    package var url: String
    /// The request method; nil is GET, or POST with a body.
    package var method: String?
    /// The header fields, each `Name: value`.
    package var headers: [String]?
    /// A body as text.
    package var body: String?
    /// A file to send, by its absolute path.
    package var bodyFile: String?
    /// The file that the response's body goes to, by its absolute path; nil reads and counts it only.
    package var output: String?
    /// The file's permissions in octal digits, such as `0640`.
    package var mode: String?
    /// The required SHA-256 of the body, in 64 hexadecimal digits.
    package var sha256: String?
    /// A name to show in lists.
    package var name: String?
    /// The caller's own name for the task, which makes the submission repeatable.
    package var key: String?
    /// What happens if the key is known: `keep`, `replace` or `append`.
    package var onDuplicate: String?
    /// Which task gets a connection first if there are too few; higher goes first.
    package var priority: Int?
    /// True submits the task suspended.
    package var suspended: Bool?
    /// True if the request may be sent again although the first one may have been carried out.
    package var idempotent: Bool?
    /// What attempts wait for, as the command line writes it.
    package var require: [String]?
    /// How long the task waits at the gate.
    package var patienceSeconds: Double?
    /// How long the task may take in all.
    package var deadlineSeconds: Double?
    /// Maximum number of retries.
    package var retries: Int?
    /// Which redirects are followed: `same-origin`, `no-downgrade` or `free`.
    package var redirects: String?
    /// Whether a public server may redirect to a loopback or link-local address.
    package var allowPrivateRedirects: Bool?

    /// A submission of a GET that keeps nothing.
    package init(url: String) { self.url = url }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case url, method, headers, body, bodyFile, output, mode, name, key, onDuplicate, priority, suspended
        case idempotent, require, patienceSeconds, deadlineSeconds, retries, sha256, redirects, allowPrivateRedirects
    }

    /// The members that the object may have.
    package static var members: [String] { CodingKeys.allCases.map(\.rawValue) }
}

/// The result of a submission.
public struct SubmitResponse: Sendable, Hashable {
    /// The task; the existing one if the key was known.
    public let id: TaskID
    /// False if the key was known and the existing task stays.
    public let isNew: Bool

    package init(id: TaskID, isNew: Bool) {
        self.id = id
        self.isNew = isNew
    }
}
