internal import ArgumentParser
internal import TidegateCore

/// HTTP options of `fetch`.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("User and password for basic authentication.", valueName: "user:password"))
    var user: String?

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
        guard let text = self.maxFilesize else { return nil }
        let size = try OptionParsing.naming("--max-filesize") { () throws(TextError) in try ByteText(parsing: text) }
        guard size.bytes > 0 else { throw ValidationError("--max-filesize: must be greater than 0") }
        return Int(size.bytes)
    }

    func validate() throws {
        _ = try self.maxBodyBytes()
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is out of range (0 to 100)")
        }
        if let user, !user.contains(":") { throw ValidationError("-u: expected user:password") }
    }
}
