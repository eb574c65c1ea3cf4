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
    /// A body in Base64 (RFC 4648 4), which may have any bytes.
    package var bodyBase64: String?
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
    /// Maximum number of retries in a row without a new part of the body.
    package var retries: Int?
    /// Which redirects are followed: `same-origin`, `no-downgrade` or `free`.
    package var redirects: String?
    /// Whether a public server may redirect to a loopback or link-local address.
    package var allowPrivateRedirects: Bool?
    /// True requests a compressed response and decodes it.
    package var compressed: Bool?
    /// True asks the server whether the response of an earlier run is still current, and keeps its file if it is.
    package var conditional: Bool?
    /// True sends and keeps cookies, which all tasks with it share.
    package var cookies: Bool?
    /// The URL of a proxy, in place of the daemon's.
    package var proxy: String?
    /// The pins in place of the daemon's; a certificate of the chain must have one.
    package var pins: [String]?
    /// A PEM file of the authorities that are trusted, by its absolute path, in place of the daemon's.
    package var caFile: String?

    /// How many bytes a body may have that is kept with its task.
    package static let maxBodyBytes = 10 << 20

    /// A submission of a GET that keeps nothing.
    package init(url: String) { self.url = url }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case url, method, headers, body, bodyBase64, bodyFile, output, mode, name, key, onDuplicate, priority, suspended
        case idempotent, require, patienceSeconds, deadlineSeconds, retries, sha256, redirects, allowPrivateRedirects
        case compressed, conditional, cookies, proxy, pins, caFile
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
