internal import ArgumentParser

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

    func validate() throws {
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is out of range (0 to 100)")
        }
        if let user, !user.contains(":") { throw ValidationError("-u: expected user:password") }
    }
}
