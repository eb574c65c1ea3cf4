internal import ArgumentParser
internal import Tidegate

/// `--internet-check`, repeatable.
struct InternetCheckOptions: ParsableArguments {
    @Option(
        name: .customLong("internet-check"),
        help: ArgumentHelp("URL to check for internet access (repeatable).", valueName: "url"))
    var texts: [String] = []

    /// The default URLs of a required check: two operators, over http, which reveals captive portals, and https.
    static let defaultURLs = [
        "http://connectivitycheck.gstatic.com/generate_204", "http://cp.cloudflare.com/generate_204",
        "https://www.gstatic.com/generate_204",
    ]

    /// The internet check that the options ask for.
    ///
    /// - Parameter isRequired: True uses the default URLs if the option is absent; false leaves the check off then.
    func policy(isRequired: Bool) throws -> InternetCheckPolicy {
        let texts = self.texts.isEmpty && isRequired ? InternetCheckOptions.defaultURLs : self.texts
        guard !texts.isEmpty else { return .off }
        do throws(ConfigurationValueError) {
            return InternetCheckPolicy(
                urls: try texts.map { text throws(ConfigurationValueError) in try InternetCheckURL(text) })
        } catch {
            throw ValidationError("--internet-check: \(error.problem)")
        }
    }

    func validate() throws { _ = try self.policy(isRequired: false) }
}
