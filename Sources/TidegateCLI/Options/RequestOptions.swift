internal import ArgumentParser
internal import TidegateDaemon

/// What each request says.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The method; GET, or what a body asks for.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header: 'Name: value'.", valueName: "header"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("Post this text as a form.", valueName: "text"))
    var data: String?

    @Option(help: ArgumentHelp("Post this text as JSON.", valueName: "text"))
    var jsonBody: String?

    @Option(help: ArgumentHelp("Put this file.", valueName: "file"))
    var uploadFile: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Name and password for HTTP's Basic scheme.", valueName: "user:password"))
    var user: String?

    @Flag(help: "Ask for a compressed answer and unpack it.")
    var compressed = false

    @Flag(name: .customLong("http2"), help: "Offer HTTP/2 to https servers.")
    var usesHTTP2 = false

    @Option(help: ArgumentHelp("Follow at most this many redirects.", valueName: "n"))
    var maxRedirs = 10

    func validate() throws {
        _ = try self.parsedHeaders()
        let bodies = [
            self.data.map { _ in "--data" }, self.jsonBody.map { _ in "--json-body" },
            self.uploadFile.map { _ in "--upload-file" },
        ].compactMap(\.self)
        if bodies.count > 1 { throw ValidationError("\(bodies[0]) and \(bodies[1]) exclude each other") }
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is not from 0 to 100")
        }
        if let user, !user.contains(":") { throw ValidationError("-u: write it as user:password") }
    }

    /// The headers, parsed.
    func parsedHeaders() throws -> [ScheduledTask.Header] {
        try self.headers.map { text in
            try OptionText.naming("-H") { () throws(TextError) in try ScheduledTask.Header(parsing: text) }
        }
    }
}
