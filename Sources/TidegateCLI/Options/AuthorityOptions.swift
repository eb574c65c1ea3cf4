internal import TidegateCore
internal import ArgumentParser
internal import TidegateDaemon

/// `--cacert`.
struct AuthorityOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "CA certificates (PEM) to verify servers against, instead of the system's.", valueName: "file"))
    var cacert: String?

    /// The file of `cacert`, or what a pipe of that name had when it was checked.
    var caFile: String? { self.cacert.map(PipedFile.known) }

    // The system's own file has less than 256 KiB.
    private static let maxBytes = 16 << 20

    /// Checks that the file contains certificates.
    ///
    /// - Throws: a usage error that names the option and the file.
    func check() throws {
        guard let file = self.cacert else { return }
        let text = try OptionParsing.naming("--cacert", PipedFile.text(of: file, atMost: AuthorityOptions.maxBytes))
        guard AuthorityOptions.hasCertificate(text) else {
            throw ValidationError("--cacert: \(file) contains no PEM certificate")
        }
    }

    /// True if a certificate begins and ends in `text` (RFC 7468 5).
    private static func hasCertificate(_ text: String) -> Bool {
        for label in ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"] {
            guard let begin = text.firstRange(of: "-----BEGIN \(label)-----") else { continue }
            if text[begin.upperBound...].firstRange(of: "-----END \(label)-----") != nil { return true }
        }
        return false
    }
}
