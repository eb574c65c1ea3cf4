internal import TidegateProbes

/// The keys of a module's `tcp` and `unix`.
enum StreamProbeSchema {
    static let tcp: [Field<StreamProbeOptions>] =
        [
            .value("preferred_ip_protocol", \.family.family, .ipProtocol),
            .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
            .value("source_ip_address", \.source.address, .sourceAddress),
            .value("source_interface", \.source.interface, .interface),
        ] + Self.stream

    /// What does not depend on how the server is reached.
    static let stream: [Field<StreamProbeOptions>] = [
        .sections("query_response", \.dialogue, blank: StreamProbeOptions.Step(), Self.step, check: Self.checkLabels),
        .value("tls", \.usesTLS, .boolean),
        .section("tls_config", \.tls, ProbeTLSSchema.fields, check: ProbeTLSSchema.check),
    ]

    private static let step: [Field<StreamProbeOptions.Step>] = [
        .value("expect", \.expect, .expectation), .value("expect_bytes", .text) { $0.expectedBytes = Array($1.utf8) },
        .value("send", \.send, .text), .value("starttls", \.startsTLS, .boolean),
        Self.labels,
    ]

    /// What becomes of `probe_expect_info`.
    static let labels = Field<StreamProbeOptions.Step>.sections(
        "labels", \.labels, blank: StreamProbeOptions.Label(),
        [
            .value("name", \.name, .text, isRequired: true), .value("value", \.value, .text),
        ])

    /// A path is no name that a certificate could be for.
    static func checkUnix(_ options: StreamProbeOptions, _ section: inout SectionCheck) {
        guard options.mayUseTLS, options.tls.serverName == nil, !options.tls.isInsecure else { return }
        section.add("TLS needs tls_config.server_name or insecure_skip_verify: a path is not a name")
    }

    /// A metric has the same labels in all its series.
    static func checkLabels(_ steps: [StreamProbeOptions.Step], _ list: inout SectionCheck) {
        var hasLabels = false
        for (step, node) in zip(steps, list.node.elements) where !step.labels.isEmpty {
            if hasLabels { list.add("labels may stand in one entry of query_response only", at: node) }
            hasLabels = true
            if step.expect == nil { list.add("labels need an expect in the same entry", at: node) }
            let names = step.labels.map(\.name)
            if Set(names).count < names.count { list.add("labels have a name twice", at: node) }
            for name in names where !name.isLabelName {
                list.add("\"\(name)\" is not the name of a label", at: node)
            }
        }
    }
}
