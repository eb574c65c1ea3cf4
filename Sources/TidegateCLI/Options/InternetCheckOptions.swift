internal import ArgumentParser
internal import Tidegate

/// `--internet-check`, as often as wanted.
struct InternetCheckOptions: ParsableArguments {
    @Option(
        name: .customLong("internet-check"),
        help: ArgumentHelp("Ask this URL whether the internet is there, as often as wanted.", valueName: "url"))
    var texts: [String] = []

    /// Whom `--for internet` asks where nobody is named: two operators, over http, which shows portals, and https.
    static let usual = [
        "http://connectivitycheck.gstatic.com/generate_204", "http://cp.cloudflare.com/generate_204",
        "https://www.gstatic.com/generate_204",
    ]

    /// What to ask where the rung is climbed.
    ///
    /// - Parameter isAskedFor: True takes the usual URLs where none was named; else nobody is asked then.
    func policy(isAskedFor: Bool) throws -> InternetCheckPolicy {
        let texts = self.texts.isEmpty && isAskedFor ? InternetCheckOptions.usual : self.texts
        guard !texts.isEmpty else { return .off }
        do {
            return try InternetCheckPolicy(urls: try texts.map { try InternetCheckURL($0) })
        } catch {
            throw ValidationError("--internet-check: \(error)")
        }
    }

    func validate() throws { _ = try self.policy(isAskedFor: false) }
}
