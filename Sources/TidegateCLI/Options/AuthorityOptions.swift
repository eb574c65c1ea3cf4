internal import ArgumentParser
internal import TidegateDaemon

/// `--cacert`.
struct AuthorityOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Trust the authorities in this file instead of the system's.", valueName: "file"))
    var cacert: String?

    // The system's own file has less than a quarter of a mebibyte.
    private static let mostBytes = 16 << 20

    /// Looks whether the file has certificates in it.
    ///
    /// - Throws: a usage error that names the option and the file.
    func check() throws {
        guard let file = self.cacert else { return }
        let text = try OptionParsing.naming("--cacert") { () throws(TextError) in
            do {
                return try TextFile.read(file, atMost: AuthorityOptions.mostBytes)
            } catch {
                throw TextError("\(file) \(error)")
            }
        }
        guard AuthorityOptions.hasCertificate(text) else {
            throw ValidationError("--cacert: \(file) has no certificate in PEM form in it")
        }
    }

    /// True where a certificate begins and ends (RFC 7468 5).
    private static func hasCertificate(_ text: String) -> Bool {
        for label in ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"] {
            guard let begin = text.firstRange(of: "-----BEGIN \(label)-----") else { continue }
            if text[begin.upperBound...].firstRange(of: "-----END \(label)-----") != nil { return true }
        }
        return false
    }
}
