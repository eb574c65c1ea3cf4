internal import Tidegate

/// The keys of `transfers.tls`.
enum TLSSchema {
    static let fields: [Field<ServerTrustPolicy>] = Self.own + [Self.hosts]

    private static let own: [Field<ServerTrustPolicy>] = [
        .value("ca_file", \.caFile, .absolutePath).documented(
            "A PEM file of authorities that are trusted instead of the system's."),
        .value("crl_file", \.crlFile, .absolutePath).documented(
            "A PEM file with a list of revoked certificates of every authority of a chain; null checks none."),
        .value("cert_status", \.requiresCertificateStatus, .boolean).documented(
            "True requires servers to send an OCSP response with their certificate (stapling).", default: "false"),
        .value("cert_file", \.clientCertificate, .absolutePath).documented(
            "A PEM file with the client certificate for servers that request one."),
        .value("key_file", \.clientKey, .absolutePath).documented(
            "A PEM file with its key, without a passphrase; null if the key is in cert_file."),
        .mapping("pins") { policy, entry throws(TextError) in
            guard case .list(let nodes) = entry.value.content else {
                throw TextError("expected a list, found \(entry.value.summary)")
            }
            let pins = try nodes.map { node throws(TextError) in try ValueParser<String>.pin.parse(node) }
            guard entry.key == "*" || (try? Target(entry.key)) != nil else {
                throw TextError("\"\(entry.key)\" is not a host")
            }
            policy.pins[entry.key] = pins
        }.documented(
            "Lists of pins by host (\"*\" for all others). A certificate of the chain has to match one: "
                + "sha256//BASE64 of a public key, or a certificate's SHA-256 fingerprint.", default: "{}"),
        .value("validate_host_name", \.validatesHostName, .boolean).documented(
            "False accepts certificates for other names, from hosts that have pins.", default: "true"),
        .value("insecure", \.isInsecure, .boolean).documented(
            "True verifies no certificate: an attacker on the path can read and change everything.", default: "false"),
    ]

    private static let hosts = Field<ServerTrustPolicy>.entries(
        "hosts", of: ConfigurationJSONSchema.section(Self.own.compactMap(\.text))
    ) { policy, entry, problems in
        var own = ServerTrustPolicy()
        problems.read(Self.own, from: entry.value, into: &own)
        policy.hosts[entry.key] = own
    }.documented("The same keys for single hosts, whose policies take this one's place.", default: "{}")

    static func check(_ policy: ServerTrustPolicy, _ section: inout SectionCheck) {
        let error = Result { () throws(ConfigurationValueError) in try policy.validate() }.failure
        if let error { section.add(error.problem) }
    }
}
