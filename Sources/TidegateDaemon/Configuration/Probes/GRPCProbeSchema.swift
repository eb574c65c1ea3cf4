internal import HTTPTypes
internal import TidegateCore
internal import TidegateProbes

/// The keys of a module's `grpc`.
enum GRPCProbeSchema {
    static let fields: [Field<GRPCProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("service", \.service, .text), .value("tls", \.usesTLS, .boolean),
        .section("tls_config", \.tls, ProbeTLSSchema.fields, check: ProbeTLSSchema.check),
        Self.metadata,
    ]

    /// Fields that the protocol needs, or that HTTP/2 does not have; those that begin with `grpc-` are gRPC's own.
    private static let reserved: Set<String> = [
        "connection", "content-length", "content-type", "host", "keep-alive", "proxy-connection", "te",
        "transfer-encoding", "upgrade", "user-agent",
    ]

    // The key `metadata`: a value or a list of them by each name.
    private static let metadata = Field<GRPCProbeOptions>.mapping("metadata") { options, entry throws(TextError) in
        guard let name = HTTPField.Name(entry.key), entry.key.isWord(with: "-._") else {
            throw TextError("\"\(entry.key)\" is not the name of metadata")
        }
        guard !Self.reserved.contains(name.canonicalName), !name.canonicalName.hasPrefix("grpc-") else {
            throw TextError("\(entry.key) cannot be set with metadata")
        }
        let nodes = if case .list(let nodes) = entry.value.content { nodes } else { [entry.value] }
        for node in nodes {
            let value = try ValueParser<String>.text.parse(node)
            // Values of names that end in -bin are sent in base64.
            guard name.canonicalName.hasSuffix("-bin") || value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
                HTTPField.isValidValue(value)
            else {
                throw TextError("the value of \(entry.key) has a character that metadata cannot carry")
            }
            options.metadata.append(HTTPField(name: name, value: value))
        }
    }
}
