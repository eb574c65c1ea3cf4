internal import Tidegate
internal import TidegateCore

/// The keys of `transfers.tls`.
enum TLSSchema {
    static let fields: [Field<ServerTrustPolicy>] = Self.own + [Self.hosts]

    private static let own: [Field<ServerTrustPolicy>] = [
        .value("ca_file", \.caFile, .absolutePath).documented(
            "A PEM file of authorities that are trusted instead of the system's."),
        .value("cert_file", \.clientCertificate, .absolutePath).documented(
            "A PEM file with the certificate that is shown to servers that ask for one."),
        .value("key_file", \.clientKey, .absolutePath).documented(
            "A PEM file with its key, without a passphrase; null if the key is in cert_file."),
        .lists("pins", ValueParser<String>.pin) { policy, host, pins throws(TextError) in
            guard host == "*" || (try? Target(host)) != nil else { throw TextError("\"\(host)\" is not a host") }
            policy.pins[host] = pins
        }.documented(
            "Lists of pins by host (\"*\" for all others), of which a certificate of the chain has to match one: "
                + "sha256//BASE64 of a public key, or a certificate's SHA-256 fingerprint.", default: "{}"),
        .value("validate_host_name", \.validatesHostName, .boolean).documented(
            "False accepts certificates for other names, from hosts that have pins.", default: "true"),
        .value("insecure", \.isInsecure, .boolean).documented(
            "True verifies no certificate: anybody on the way can read and change everything.", default: "false"),
    ]

    private static let hosts = Field<ServerTrustPolicy>.mapping("hosts", Self.own) { policy, host, own in
        policy.hosts[host] = own
    }.documented("The same keys for single hosts, whose policies take this one's place.", default: "{}")

    @Sendable
    static func check(_ policy: ServerTrustPolicy, at node: ConfigurationNode, problems: inout ProblemList) {
        do throws(ConfigurationValueError) {
            try policy.validate()
        } catch {
            problems.add(error.problem, at: node)
        }
    }
}

extension Field {
    /// A key with a mapping from names to lists of values.
    static func lists<Value: Sendable>(
        _ key: String, _ parser: ValueParser<Value>,
        _ set: @escaping @Sendable (inout Section, String, [Value]) throws(TextError) -> Void
    ) -> Field {
        .mapping(key) { section, entry throws(TextError) in
            guard case .list(let nodes) = entry.value.content else {
                throw TextError("expected a list, found \(entry.value.summary)")
            }
            var values: [Value] = []
            for node in nodes { values.append(try parser.parse(node)) }
            try set(&section, entry.key, values)
        }
    }

    /// A key with a mapping from names to sections.
    static func mapping(
        _ key: String, _ fields: [Field], _ set: @escaping @Sendable (inout Section, String, Section) -> Void
    ) -> Field where Section == ServerTrustPolicy {
        Field(key: key, isRequired: false, text: FieldText(key)) { section, node, problems in
            switch node.content {
            case .null: break
            case .scalar, .list: problems.add("expected a mapping, found \(node.summary)", at: node)
            case .section(let entries):
                for entry in entries {
                    var own = ServerTrustPolicy()
                    problems.read(fields, from: entry.value, into: &own)
                    set(&section, entry.key, own)
                }
            }
        }
    }
}
