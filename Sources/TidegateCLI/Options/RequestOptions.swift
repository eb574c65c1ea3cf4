internal import ArgumentParser

/// What each request of a `fetch` says.
struct RequestOptions: ParsableArguments {
    @OptionGroup var message: MessageOptions

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
        guard (0...100).contains(self.maxRedirs) else {
            throw ValidationError("--max-redirs: \(self.maxRedirs) is not from 0 to 100")
        }
        if let user, !user.contains(":") { throw ValidationError("-u: write it as user:password") }
    }
}
