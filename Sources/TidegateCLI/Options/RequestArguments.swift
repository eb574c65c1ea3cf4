internal import ArgumentParser
internal import HTTPTypes
internal import Tidegate
internal import TidegateDaemon

/// The method, header fields and body of a request, for `fetch` and `tasks submit`.
struct RequestArguments: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: .value("method", "Request method (default: GET, or what the body option implies)."))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: .value("header", "Header field 'Name: value', or @FILE (repeatable).")
    )
    var headers: [String] = []

    @Option(help: .value("text", "POST this text as application/x-www-form-urlencoded."))
    var data: String?

    @Option(help: .value("text", "POST this text, or what is in @FILE, as application/json."))
    var jsonBody: String?

    @Option(
        name: [.customShort("T"), .long],
        help: .value("file", "PUT this file; fetch also takes a pipe, or - for standard input."))
    var uploadFile: String?

    @Option(name: .customLong("sha256"), help: .value("hex", "Fail unless the response body has this SHA-256 digest."))
    var sha256: String?

    @Option(
        help: .value(
            "policy",
            "Redirects to follow: same-origin, no-downgrade (default; not from https to http) or free, which takes "
                + "credentials along."),
        completion: .list(RedirectPolicy.allCases.map(\.rawValue)), transform: RequestArguments.redirectPolicy)
    var redirects: RedirectPolicy?

    @Flag(help: "Request a compressed response (gzip, deflate, br) and decode it.")
    var compressed = false

    @Flag(help: "Follow redirects of a public server to a loopback or link-local address.")
    var allowPrivateRedirects = false

    func validate() throws {
        _ = try self.fields()
        _ = try self.json()
        let bodies = self.bodyOptions
        if bodies.count > 1 { throw ValidationError("\(bodies[0]) and \(bodies[1]) are mutually exclusive") }
        if let sha256 { _ = try OptionParsing.naming("--sha256", ContentDigest(parsing: sha256)) }
    }

    /// The given options that set the request body.
    var bodyOptions: [String] {
        [
            self.data.map { _ in "--data" }, self.jsonBody.map { _ in "--json-body" },
            self.uploadFile.map { _ in "--upload-file" },
        ].compactMap(\.self)
    }

    private static func redirectPolicy(_ text: String) throws -> RedirectPolicy {
        do { return try RedirectPolicy(word: text) } catch { throw ValidationError(error.description) }
    }

    /// The request for a URL; the body implies the method if none is given.
    func submission(for url: String) throws -> TaskSubmission {
        var submission = TaskSubmission(url: url)
        let fields = try self.fields()
        submission.method = self.method
        submission.headers = fields.isEmpty ? nil : fields.map { "\($0.name): \($0.value)" }
        submission.body = try self.data ?? self.json()
        submission.bodyFile = self.uploadFile
        submission.sha256 = self.sha256
        submission.redirects = self.redirects?.rawValue
        submission.compressed = self.compressed ? true : nil
        submission.allowPrivateRedirects = self.allowPrivateRedirects ? true : nil
        return submission
    }

    // As large as the body of a durable task may be.
    private static let maxBytes = 16 << 20

    /// The body of `--json-body`; nil if absent.
    private func json() throws -> String? {
        guard let text = self.jsonBody, text.hasPrefix("@") else { return self.jsonBody }
        let file = String(text.dropFirst())
        return try OptionParsing.naming(
            "--json-body: \(file)", TextFile.read(try PipedFile.readable(file), atMost: RequestArguments.maxBytes))
    }

    /// The files of `-H @FILE`.
    var secretFiles: [String] { self.headers.filter { $0.hasPrefix("@") }.map { String($0.dropFirst()) } }

    /// The fields of `-H`, then those that the body implies and `-H` does not set.
    private func fields() throws -> [HTTPField] {
        let given = try self.headers.flatMap(self.lines).map { try OptionParsing.naming("-H", HTTPField(line: $0)) }
        var implied: [HTTPField] = []
        if self.data != nil {
            implied = [HTTPField(name: .contentType, value: "application/x-www-form-urlencoded")]
        } else if self.jsonBody != nil {
            implied = [.contentType, .accept].map { HTTPField(name: $0, value: "application/json") }
        }
        return given + implied.filter { field in !given.contains { $0.name == field.name } }
    }

    /// The non-empty lines of `@FILE`, or any other text unchanged.
    ///
    /// A file keeps a secret out of the arguments, which all users can read.
    private func lines(of header: String) throws -> [String] {
        guard header.hasPrefix("@") else { return [header] }
        let file = String(header.dropFirst())
        let text = try OptionParsing.naming(
            "-H: \(file)", TextFile.read(try PipedFile.readable(file), atMost: 65_536))
        return text.split(whereSeparator: \.isNewline).map(String.init)
    }
}
