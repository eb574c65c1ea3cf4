internal import TidegateProbes

/// The keys of a module's `dns`.
enum DNSProbeSchema {
    static let fields: [Field<DNSProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        .value("transport_protocol", \.transport, .dnsTransport),
        .value("dns_over_tls", \.isEncrypted, .boolean),
        .section("tls_config", \.tls, ProbeTLSSchema.fields, check: ProbeTLSSchema.check),
        .value("query_name", \.name, .queryName, isRequired: true),
        .value("query_type", \.type, .recordType),
        .value("query_class", \.recordClass, .recordClass),
        .value("recursion_desired", \.isRecursive, .boolean),
        .list("valid_rcodes", \.validCodes, .responseCode),
        .section("validate_answer_rrs", \.answers, Self.conditions),
        .section("validate_authority_rrs", \.authorities, Self.conditions),
        .section("validate_additional_rrs", \.additionals, Self.conditions),
    ]

    private static let conditions: [Field<DNSRecordConditions>] = [
        .list("fail_if_matches_regexp", \.failsIfMatches, .pattern),
        .list("fail_if_all_match_regexp", \.failsIfAllMatch, .pattern),
        .list("fail_if_not_matches_regexp", \.failsIfNotMatches, .pattern),
        .list("fail_if_none_matches_regexp", \.failsIfNoneMatches, .pattern),
    ]

    /// Keys that need each other.
    static func check(_ options: DNSProbeOptions, _ section: inout SectionCheck) {
        if options.isEncrypted, options.transport != .tcp {
            section.add("dns_over_tls needs transport_protocol: tcp")
        }
    }
}
