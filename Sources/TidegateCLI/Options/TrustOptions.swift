internal import ArgumentParser
internal import Tidegate
internal import TidegateCore
internal import TidegateDaemon

/// `--cacert`, `--pin`, `--cert`, `--key` and `--insecure`.
struct TrustOptions: ParsableArguments {
    @OptionGroup var authority: AuthorityOptions

    @Option(
        name: .customLong("pin"),
        help: ArgumentHelp(
            "Key (sha256//BASE64) or SHA-256 fingerprint that a certificate of the chain must have (repeatable).",
            valueName: "pin"))
    var pins: [String] = []

    @Option(help: ArgumentHelp("Client certificate (PEM) for servers that ask for one.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("Its key (PEM), if it is in another file.", valueName: "file"))
    var key: String?

    @Flag(help: "Do not verify server certificates.")
    var insecure = false

    func validate() throws {
        try OptionParsing.exclude(("--cacert", self.authority.cacert != nil), ("--insecure", self.insecure))
        if self.key != nil, self.cert == nil { throw ValidationError("--key requires --cert") }
        for pin in self.pins { _ = try OptionParsing.naming("--pin", CertificatePin(pin)) }
    }

    /// Checks that the files can be read.
    ///
    /// - Throws: a usage error that names the option and the file.
    func check() throws {
        try self.authority.check()
        for (option, file) in [("--cert", self.cert), ("--key", self.key)] {
            guard let file else { continue }
            _ = try OptionParsing.naming(option, PipedFile.text(of: file, atMost: TrustOptions.maxBytes))
        }
    }

    private static let maxBytes = 1 << 20

    /// The files with a private key; one that every user may read is warned about.
    var keyFiles: [String] { [self.key ?? self.cert].compactMap { $0 } }

    /// Whom the transfers trust; ``check()`` comes first.
    var policy: ServerTrustPolicy {
        ServerTrustPolicy(
            caFile: self.authority.caFile, pins: self.pins.isEmpty ? [:] : ["*": self.pins], isInsecure: self.insecure,
            clientCertificate: self.cert.map(PipedFile.known), clientKey: self.key.map(PipedFile.known))
    }
}
