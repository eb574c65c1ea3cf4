internal import TidegateCore
internal import ArgumentParser
internal import TidegateDaemon

/// Connections, rate, proxy and TLS.
struct NetworkOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Maximum number of concurrent transfers, per host and in total.", valueName: "n"))
    var parallel = 6

    @Option(help: ArgumentHelp("Maximum transfer rate in bytes per second, such as 500k or 2M.", valueName: "rate"))
    var limitRate: String?

    @OptionGroup var proxies: ProxyOptions

    @OptionGroup var trust: TrustOptions

    /// Bytes per second; nil without a limit.
    func bytesPerSecond() throws -> Int? {
        try self.limitRate.map { try OptionParsing.bytes($0, of: "--limit-rate") }
    }

    func validate() throws {
        _ = try self.bytesPerSecond()
        guard (1...1000).contains(self.parallel) else {
            throw ValidationError("--parallel: \(self.parallel) is out of range (1 to 1000)")
        }
    }
}
