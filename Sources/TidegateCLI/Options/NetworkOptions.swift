internal import ArgumentParser
internal import TidegateDaemon

/// How the wire is used.
struct NetworkOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Run this many transfers at once, to one host and in all.", valueName: "n"))
    var parallel = 6

    @Option(help: ArgumentHelp("Receive at most this many bytes a second: 500k, 2M.", valueName: "rate"))
    var limitRate: String?

    @Option(help: ArgumentHelp("Go through this proxy: http://HOST:PORT.", valueName: "url"))
    var proxy: String?

    @OptionGroup var authority: AuthorityOptions

    @Flag(help: "Do not verify certificates at all.")
    var insecure = false

    /// Bytes a second; nil without bound.
    func bytesPerSecond() throws -> Int? {
        guard let text = self.limitRate else { return nil }
        let rate = try OptionParsing.naming("--limit-rate") { () throws(TextError) in try ByteText(parsing: text) }
        guard rate.bytes > 0 else { throw ValidationError("--limit-rate: \"\(text)\" would let nothing through") }
        return Int(rate.bytes)
    }

    func validate() throws {
        _ = try self.bytesPerSecond()
        guard (1...1000).contains(self.parallel) else {
            throw ValidationError("--parallel: \(self.parallel) is not from 1 to 1000")
        }
        if self.authority.cacert != nil, self.insecure {
            throw ValidationError("--cacert and --insecure exclude each other")
        }
    }
}
