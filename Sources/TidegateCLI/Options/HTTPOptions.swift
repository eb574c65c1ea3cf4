internal import ArgumentParser
internal import Tidegate

/// HTTP options of `fetch`.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: [.customShort("F"), .long],
        help: ArgumentHelp(
            "POST a form of parts NAME=VALUE, NAME=@FILE or NAME=<FILE (its contents as text), with ;type= and "
                + ";filename= as curl -F takes them (repeatable).", valueName: "part"))
    var form: [String] = []

    @Option(
        name: [.customShort("u", allowingJoined: true), .customLong("user")],
        help: ArgumentHelp("User and password for basic authentication.", valueName: "user:password"))
    var user: String?

    @Flag(
        name: [.customShort("n"), .long], help: "Take users and passwords of hosts from ~/.netrc; -u takes precedence.")
    var netrc = false

    @Option(help: ArgumentHelp("Take them from this file instead.", valueName: "file"))
    var netrcFile: String?

    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp(
            "Send the cookies of this file (Netscape's format), and leave it as it is.", valueName: "file"))
    var cookie: String?

    @Option(
        help: ArgumentHelp(
            "Send the cookies of this file (Netscape's format), and save the resulting cookies to it.",
            valueName: "file"))
    var cookieJar: String?

    @Option(
        help: ArgumentHelp(
            """
            Keep the ETag and Last-Modified of downloads in this directory, and ask the server only whether a file that \
            is still there has changed.
            """, valueName: "directory"))
    var validators: String?

    @Flag(help: "Request a compressed response and decode it.")
    var compressed = false

    @Flag(name: .customLong("http2"), help: "Offer HTTP/2 to https servers.")
    var usesHTTP2 = false

    @Option(help: ArgumentHelp("Maximum number of redirects to follow.", valueName: "n"))
    var maxRedirs = 10

    @Option(
        help: ArgumentHelp(
            "Maximum size of a body in bytes, decoded, such as 500k or 2M; a larger one fails.", valueName: "bytes"))
    var maxFilesize: String?

    /// The maximum size of a body; nil without a limit.
    func maxBodyBytes() throws -> Int? {
        try self.maxFilesize.map { try OptionParsing.bytes($0, of: "--max-filesize") }
    }

    /// The file with users and passwords; nil if none is wanted.
    var secretFile: String? { self.netrcFile ?? (self.netrc ? Netrc.ownFile : nil) }

    /// Its entries; nil if none are wanted, or if `-u` goes before them.
    func passwords() throws -> Netrc? {
        guard self.user == nil, let file = self.secretFile else { return nil }
        return try OptionParsing.naming("--netrc", Netrc(file, isRequired: self.netrcFile != nil))
    }

    /// The parts of `--form`.
    func formFields() throws -> [FormField] {
        try self.form.map { try OptionParsing.naming("--form", FormField(parsing: $0)) }
    }

    /// The store with validators; nil if none is wanted.
    func validatorStore() throws -> ValidatorStore? {
        try self.validators.map { try OptionParsing.naming("--validators", ValidatorStore(directory: $0)) }
    }

    func validate() throws {
        if self.validators == "" { throw ValidationError("--validators: path is empty") }
        _ = try self.maxBodyBytes()
        _ = try self.formFields()
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is out of range (0 to 100)")
        }
        if self.netrcFile == "" { throw ValidationError("--netrc-file: path is empty") }
        if let user, !user.contains(":") { throw ValidationError("-u: expected user:password") }
    }
}
