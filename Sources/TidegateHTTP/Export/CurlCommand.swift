internal import TidegateCore
internal import HTTPTypes
public import TidegateSession

/// A request as a curl(1) command that repeats it.
///
/// The command does not show how the task waited, was retried or resumed.
public struct CurlCommand: Sendable, Hashable {
    /// The program and its arguments, `curl` first.
    public private(set) var arguments: [String]
    /// What the command lacks, one sentence each without a full stop, such as a body that is not kept.
    public private(set) var notes: [String]
    /// The input of the command on standard input; nil for none.
    package private(set) var input: [UInt8]?

    // A single argument has at most 128 KiB (execve(2)), including its end.
    private static let argumentLimit = 131_071

    /// The command for a request.
    ///
    /// Without `showingSecrets`, credentials, cookies, fields whose names indicate secrets, and query values become
    /// `REDACTED`, and so do bodies.
    public init(_ request: TaskRequest, showingSecrets: Bool = false) {
        self.arguments = ["curl"]
        self.notes = []
        let redaction = SecretRedaction(isOn: !showingSecrets)
        self.addMethod(request.method, hasBody: request.body != .none)
        for field in request.headers where request.body.form == nil || field.name != .contentType {
            let (name, value) = (field.name.rawName, redaction.value(field.value, of: field.name.rawName))
            // curl needs a semicolon to send an empty field.
            self.arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"]
        }
        if let credentials = request.options.credentials ?? request.address.credentials {
            let mark = Secrets.mark
            self.arguments += [
                "-u", showingSecrets ? "\(credentials.user):\(credentials.password)" : "\(mark):\(mark)",
            ]
        }
        self.addBody(request, redaction)
        if request.options.acceptsCompression { self.arguments.append("--compressed") }
        self.arguments.append(request.options.usesHTTP2 ? "--http2" : "--http1.1")
        if let tls = request.options.tls {
            if let file = tls.caFile { self.arguments += ["--cacert", file] }
            if let file = tls.crlFile { self.arguments += ["--crlfile", file] }
            if tls.requiresCertificateStatus { self.arguments.append("--cert-status") }
            if tls.isInsecure { self.arguments.append("--insecure") }
        }
        if request.options.maxRedirects > 0 {
            self.arguments += ["--location", "--max-redirs", "\(request.options.maxRedirects)"]
        }
        // Keeps curl from treating brackets and braces as patterns.
        self.arguments += ["--globoff", redaction.url(request.address.text)]
    }

    /// The command for a request whose other values are unknown.
    package init(method: String, url: String, notes: [String]) {
        self.arguments = ["curl"]
        self.notes = notes
        self.addMethod(method, hasBody: false)
        self.arguments += ["--globoff", url]
    }

    /// The command as a line for a POSIX shell; ``notes`` precede it as comments.
    public var line: String {
        let command = self.arguments.map(ShellWord.quoted).joined(separator: " ")
        let piped = self.input.map { "printf \(CurlCommand.format($0)) | \(command)" } ?? command
        return (self.notes.map { "# \($0)" } + [piped]).joined(separator: "\n")
    }

    // curl's default is POST with a body, and GET without one.
    private mutating func addMethod(_ method: String, hasBody: Bool) {
        switch (method, hasBody) {
        case ("GET", false): break
        case ("HEAD", false): self.arguments.append("--head")
        default: self.arguments += ["-X", method]
        }
    }

    private mutating func addBody(_ request: TaskRequest, _ redaction: SecretRedaction) {
        switch request.body {
        case .none:
            // These methods announce an empty body.
            guard ["POST", "PUT", "PATCH"].contains(request.method) else { return }
            self.addData(["--data-raw", ""], request)
        case .data where redaction.isOn: self.addData(["--data-raw", Secrets.mark], request)
        case .data(let bytes):
            if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0),
                bytes.count < CurlCommand.argumentLimit
            {
                self.addData(["--data-raw", text], request)
            } else if bytes.count < CurlCommand.argumentLimit / 4 {
                self.addData(["--data-binary", "@-"], request)
                self.input = bytes
            } else {
                self.notes.append(
                    "the body of \(ByteText(Int64(bytes.count))) is too long for a command: "
                        + "write it to a file and add --data-binary @FILE")
            }
        case .file(let path):
            // With -T, curl would append the file name to a URL that ends with a slash.
            self.addData(["--data-binary", path == "-" ? "@./-" : "@\(path)"], request)
        case .stream:
            if let form = request.body.form { return self.addForm(form, redaction) }
            self.notes.append("the body was a stream and is not kept: write it to a file and add --data-binary @FILE")
        }
    }

    // curl chooses its own boundary.
    private mutating func addForm(_ form: MultipartForm, _ redaction: SecretRedaction) {
        for part in form.parts {
            if let field = part.curlField(redaction), field.utf8.count < CurlCommand.argumentLimit {
                self.arguments += ["-F", field]
            } else {
                let name = part.name.map { " \($0.escapingControls)" } ?? ""
                self.notes.append("a part\(name) of the form is not kept: write it to a file and add -F NAME=@FILE")
            }
        }
    }

    // curl would add the content type of a form.
    private mutating func addData(_ parts: [String], _ request: TaskRequest) {
        self.arguments += parts
        if request.headers.first(named: .contentType) == nil { self.arguments += ["-H", "Content-Type:"] }
    }

    // A printf(1) argument that produces these bytes.
    private static func format(_ bytes: [UInt8]) -> String {
        "'\(bytes.map { "\\" + String($0, radix: 8).padded(to: 3) }.joined())'"
    }
}

extension MultipartForm.Part {
    /// The part in the syntax of curl's option -F; nil for a stream, and for content that an argument cannot contain.
    fileprivate func curlField(_ redaction: SecretRedaction) -> String? {
        guard let name, !name.contains("="), !name.contains("\0") else { return nil }
        let file = self.fileName.map { ";filename=\(Self.quoted($0))" } ?? ""
        let type = self.contentType.map { ";type=\($0)" } ?? ""
        switch self.content {
        case .data where redaction.isOn: return "\(name)=\(Secrets.mark)\(file)\(type)"
        case .data(let bytes):
            guard let value = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else { return nil }
            return "\(name)=\(Self.quoted(value))\(file)\(type)"
        case .file(let path):
            // A plain "-" would mean standard input.
            let source = Self.quoted(path == "-" ? "./-" : path)
            return "\(name)=\(self.fileName == nil ? "<" : "@")\(source)\(file)\(type)"
        case .stream: return nil
        }
    }

    // Quoted, unless it is a plain word.
    private static func quoted(_ text: String) -> String {
        let isWord = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._/-".contains($0)) }
        guard !isWord else { return text }
        let escaped = text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return "\"\(escaped)\""
    }
}
