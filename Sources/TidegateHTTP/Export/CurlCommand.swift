internal import TidegateCore
internal import FoundationEssentials
internal import HTTPTypes
public import TidegateSession

/// A request as a command of curl(1) that makes it once more.
///
/// It says nothing of how the task waited, was retried and resumed.
public struct CurlCommand: Sendable, Hashable {
    /// The program and its arguments, `curl` first.
    public private(set) var arguments: [String]
    /// What the command would have to have besides, one sentence each without a final full stop: a body that is not
    /// kept.
    public private(set) var notes: [String]
    /// What the command reads from standard input; nil if it reads nothing.
    package private(set) var input: [UInt8]?

    // A single argument has 128 KiB at most (execve(2)), its end included.
    private static let argumentLimit = 131_071

    /// The command of a request.
    ///
    /// Without `showingSecrets` credentials, cookies, fields whose names say that they hold secrets, and the values of
    /// the query are `REDACTED`; the body is unchanged.
    public init(_ request: TaskRequest, showingSecrets: Bool = false) {
        self.arguments = ["curl"]
        self.notes = []
        let redaction = SecretRedaction(isOn: !showingSecrets)
        self.addMethod(request.method, hasBody: request.body != .none)
        for field in request.headers where request.body.form == nil || field.name != .contentType {
            let (name, value) = (field.name.rawName, redaction.value(field.value, of: field.name.rawName))
            // curl sends an empty field only with a semicolon.
            self.arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"]
        }
        if let credentials = request.options.credentials ?? request.address.credentials {
            let mark = SecretRedaction.mark
            self.arguments += [
                "-u", showingSecrets ? "\(credentials.user):\(credentials.password)" : "\(mark):\(mark)",
            ]
        }
        self.addBody(request)
        if request.options.acceptsCompression { self.arguments.append("--compressed") }
        self.arguments.append(request.options.usesHTTP2 ? "--http2" : "--http1.1")
        if let tls = request.options.tls {
            if let file = tls.caFile { self.arguments += ["--cacert", file] }
            if tls.isInsecure { self.arguments.append("--insecure") }
        }
        if request.options.maxRedirects > 0 {
            self.arguments += ["--location", "--max-redirs", "\(request.options.maxRedirects)"]
        }
        // Brackets and braces are no patterns here.
        self.arguments += ["--globoff", redaction.url(request.address.text)]
    }

    /// The command of a request if only these values are known.
    package init(method: String, url: String, notes: [String]) {
        self.arguments = ["curl"]
        self.notes = notes
        self.addMethod(method, hasBody: false)
        self.arguments += ["--globoff", url]
    }

    /// The command as a line for a POSIX shell; ``notes`` stand before it as comments.
    public var line: String {
        let command = self.arguments.map(ShellWord.quoted).joined(separator: " ")
        let piped = self.input.map { "printf \(CurlCommand.format($0)) | \(command)" } ?? command
        return (self.notes.map { "# \($0)" } + [piped]).joined(separator: "\n")
    }

    // curl would send POST for a body, and GET without one.
    private mutating func addMethod(_ method: String, hasBody: Bool) {
        switch (method, hasBody) {
        case ("GET", false): break
        case ("HEAD", false): self.arguments.append("--head")
        default: self.arguments += ["-X", method]
        }
    }

    private mutating func addBody(_ request: TaskRequest) {
        switch request.body {
        case .none:
            // These say that they have no body.
            guard ["POST", "PUT", "PATCH"].contains(request.method) else { return }
            self.addData(["--data-raw", ""], request)
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
            // After -T a URL that ends with a slash would get the file's name.
            self.addData(["--data-binary", path == "-" ? "@./-" : "@\(path)"], request)
        case .stream:
            if let form = request.body.form { return self.addForm(form) }
            self.notes.append("the body was a stream and is not kept: write it to a file and add --data-binary @FILE")
        }
    }

    // With a boundary of curl's own.
    private mutating func addForm(_ form: MultipartForm) {
        for part in form.parts {
            if let field = part.curlField, field.utf8.count < CurlCommand.argumentLimit {
                self.arguments += ["-F", field]
            } else {
                let name = part.name.map { " \($0.escapingControls)" } ?? ""
                self.notes.append("a part\(name) of the form is not kept: write it to a file and add -F NAME=@FILE")
            }
        }
    }

    // curl would say that it is a form.
    private mutating func addData(_ parts: [String], _ request: TaskRequest) {
        self.arguments += parts
        if request.headers.first(named: .contentType) == nil { self.arguments += ["-H", "Content-Type:"] }
    }

    // An argument of printf(1) that gives these bytes.
    private static func format(_ bytes: [UInt8]) -> String {
        let escaped = bytes.map { byte in
            let digits = String(byte, radix: 8)
            return "\\\(String(repeating: "0", count: 3 - digits.count))\(digits)"
        }
        return "'\(escaped.joined())'"
    }
}

extension MultipartForm.Part {
    /// The part as curl's option -F has it; nil for a stream, and for what no argument can hold.
    fileprivate var curlField: String? {
        guard let name, !name.contains("="), !name.contains("\0") else { return nil }
        let file = self.fileName.map { ";filename=\(Self.quoted($0))" } ?? ""
        let type = self.contentType.map { ";type=\($0)" } ?? ""
        switch self.content {
        case .data(let bytes):
            guard let value = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else { return nil }
            return "\(name)=\(Self.quoted(value))\(file)\(type)"
        case .file(let path):
            // That would be standard input.
            let source = Self.quoted(path == "-" ? "./-" : path)
            return "\(name)=\(self.fileName == nil ? "<" : "@")\(source)\(file)\(type)"
        case .stream: return nil
        }
    }

    // In quotation marks, unless it is a plain word.
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
