internal import HTTPTypes
internal import TidegateCore
internal import TidegateProbes

/// The keys `modules`, `probe_targets`, `probe_credentials`, `probe_body_budget` and `probes`.
enum ProbeSchema {
    /// The modules of blackbox_exporter, in the format of its configuration file.
    static let modules = Field<Configuration>.entries(
        "modules", of: ConfigurationJSONSchema.section(Self.module.compactMap(\.text))
    ) { configuration, entry, problems in
        var module = ProbeModule(prober: .http(), text: ConfigurationText.text(of: entry.value))
        problems.read(Self.module, from: entry.value, into: &module)
        configuration.probes.modules[entry.key] = module
    }.documented(
        "blackbox_exporter's modules, unchanged: what /probe?module=NAME&target=TARGET asks. Changes apply when the file "
            + "is reloaded.", default: "{}")

    static let targets = Field<Configuration>.section(
        "probe_targets", \.probes.targets,
        [
            .list("allow", \.allow, .probeTarget).documented(
                "Networks and host names that may be probed, such as 10.0.0.0/8 or *.example.com; none means all.",
                default: "[]"),
            .list("deny", \.deny, .probeTarget).documented(
                "Targets that may not be probed, even if allow lists them; also applies to redirects.",
                default: "[\(ProbeTargetPolicy.linkLocal.map { "\"\($0)\"" }.joined(separator: ", "))]"),
            .value("allow_private_redirects", \.allowsPrivateRedirects, .boolean).documented(
                "True lets a server with a public address redirect a probe to a loopback, link-local or private address. "
                    + "A name that only a proxy resolves counts as public.",
                default: "false"),
        ]
    ).documented("Which targets /probe asks. Changes apply when the file is reloaded.")

    /// Lists of hosts by module name.
    static let credentials = Field<Configuration>.entries("probe_credentials") { configuration, entry, problems in
        configuration.probes.targets.credentials[entry.key] = problems.values(
            problems.list(entry.value) ?? [], ValueParser<ProbeTargetPolicy.Entry>.probeTarget)
    }.documented(
        "The only hosts that may receive a module's credentials: names and networks under the module's name, such as "
            + "api: [\"*.example.com\"]. Credentials of other modules go wherever Prometheus, an authenticated client or a "
            + "local program other than a browser asks. Changes apply when the file is reloaded.", default: "{}"
    )

    static let bodyBudget = Field<Configuration>.value(
        "probe_body_budget", \.probes.bodyBudget, .size(in: (1 << 20)...(1 << 40))
    ).documented(
        "How much memory the bodies that modules examine take together; a probe that finds none waits. Changes need a "
            + "restart.", default: "64MiB")

    static let scheduled = Field<Configuration>.sections(
        "probes", \.scheduledProbes, blank: ScheduledProbe(),
        [
            .value("name", \.name, .name, isRequired: true).documented(
                "Required: the probe's name in metrics, events and on the page.", default: "api"),
            .value("module", \.module, .nonEmpty("module"), isRequired: true).documented(
                "Required: one of modules.", default: "http_2xx"),
            .value("target", \.target, .nonEmpty("target"), isRequired: true).documented(
                "Required: what is probed, as the module's prober takes it.", default: "https://api.example.com/health"),
            .value("every", \.every, .duration(atLeast: .seconds(1)), isRequired: true).documented(
                "Required: from one turn to the next; one is left out while the run before is not over.",
                default: "15s"),
            .value("jitter", \.jitter, .percentage).documented(
                "Maximum random delay as a share of every.", default: "10%"),
        ],
        check: { probes, list in list.refuseDuplicates(of: "name", in: probes.map(\.name)) }
    ).documented("Targets that the sidecar probes on a schedule. Changes apply when the file is reloaded.")

    /// The keys of a module, in the order in which they are read.
    ///
    /// The prober comes first, because a module keeps only the block of its own.
    static let module: [Field<ProbeModule>] = [
        .value("prober", \.prober, .prober, isRequired: true),
        .value("timeout", \.timeout, ValueParser<Duration>.duration(atLeast: .zero)),
        Self.block({ .http($0) }, HTTPProbeOptions(), HTTPProbeSchema.fields, check: HTTPProbeSchema.check),
        Self.block({ .tcp($0) }, StreamProbeOptions(), StreamProbeSchema.tcp),
        Self.block({ .unix($0) }, StreamProbeOptions(), StreamProbeSchema.stream, check: StreamProbeSchema.checkUnix),
        Self.block({ .icmp($0) }, ICMPProbeOptions(), Self.icmp),
        Self.block({ .dns($0) }, DNSProbeOptions(), Self.dns, check: Self.checkDNS),
        Self.block({ .grpc($0) }, GRPCProbeOptions(), Self.grpc),
        Self.block({ .websocket($0) }, WebSocketProbeOptions(), StreamProbeSchema.webSocket),
    ]

    // The options of a prober; a block of any other prober than the module's is validated and dropped.
    private static func block<Options: Sendable>(
        _ prober: @escaping @Sendable (Options) -> ProbeModule.Prober, _ blank: Options, _ fields: [Field<Options>],
        check: @escaping SectionCheck.Body<Options> = { _, _ in }
    ) -> Field<ProbeModule> {
        .section(prober(blank).name, from: { _ in blank }, fields, check: check) { module, options in
            if module.prober.name == prober(blank).name { module.prober = prober(options) }
        }
    }

    // MARK: the probers' keys

    /// The keys of a module's `icmp`.
    private static let icmp: [Field<ICMPProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        // The longest packet minus the headers of IPv4 and ICMP.
        .value("payload_size", \.payloadSize, .number(in: 0...65_507)),
        .value("dont_fragment", \.forbidsFragments, .boolean),
        .value("ttl", \.hopLimit, .number(in: 0...255)),
    ]

    /// The keys of a module's `dns`.
    private static let dns: [Field<DNSProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        // blackbox_exporter treats an empty text as its default.
        .value(
            "transport_protocol", \.transport,
            .text("udp or tcp", or: "is not udp or tcp") {
                DNSProbeOptions.Transport(rawValue: $0.isEmpty ? "udp" : $0)
            }),
        .value("dns_over_tls", \.isEncrypted, .boolean),
        .section("tls_config", \.tls, Self.tls, check: Self.checkTLS),
        .value("query_name", \.name, .queryName, isRequired: true),
        .value("query_type", \.type, .recordType),
        .value("query_class", \.recordClass, .recordClass),
        .value("recursion_desired", \.isRecursive, .boolean),
        .list(
            "valid_rcodes", \.validCodes,
            .text("a response code", or: "is not a response code such as NOERROR or NXDOMAIN") {
                DNSProbeOptions.code(of: $0)
            }),
        .section("validate_answer_rrs", \.answers, Self.recordConditions),
        .section("validate_authority_rrs", \.authorities, Self.recordConditions),
        .section("validate_additional_rrs", \.additionals, Self.recordConditions),
    ]

    private static let recordConditions: [Field<DNSRecordConditions>] = [
        .list("fail_if_matches_regexp", \.failsIfMatches, .pattern),
        .list("fail_if_all_match_regexp", \.failsIfAllMatch, .pattern),
        .list("fail_if_not_matches_regexp", \.failsIfNotMatches, .pattern),
        .list("fail_if_none_matches_regexp", \.failsIfNoneMatches, .pattern),
    ]

    /// Rejects keys that lack a key which they need.
    private static func checkDNS(_ options: DNSProbeOptions, _ section: inout SectionCheck) {
        if options.isEncrypted, options.transport != .tcp {
            section.add("needs transport_protocol: tcp", at: section.node.value(of: "dns_over_tls"))
        }
    }

    /// The keys of a module's `grpc`.
    private static let grpc: [Field<GRPCProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("service", \.service, .text), .value("tls", \.usesTLS, .boolean),
        .section("tls_config", \.tls, Self.tls, check: Self.checkTLS),
        Self.metadata,
    ]

    /// Fields that the protocol needs or that HTTP/2 lacks; names that begin with `grpc-` are reserved by gRPC.
    private static let reservedMetadata: Set<String> = [
        "connection", "content-length", "content-type", "host", "keep-alive", "proxy-connection", "te",
        "transfer-encoding", "upgrade", "user-agent",
    ]

    // The key `metadata`: one value or a list of values by name.
    private static let metadata = Field<GRPCProbeOptions>.mapping("metadata") { options, entry throws(TextError) in
        guard let name = HTTPField.Name(entry.key), entry.key.isWord(with: "-._") else {
            throw TextError("\"\(entry.key)\" is not the name of metadata")
        }
        guard !Self.reservedMetadata.contains(name.canonicalName), !name.canonicalName.hasPrefix("grpc-") else {
            throw TextError("\(entry.key) cannot be set with metadata")
        }
        let nodes = if case .list(let nodes) = entry.value.content { nodes } else { [entry.value] }
        for node in nodes {
            let value = try ValueParser<String>.text.parse(node)
            // Values of names that end in -bin are sent as base64.
            guard name.canonicalName.hasSuffix("-bin") || value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
                HTTPField.isValidValue(value)
            else {
                throw TextError("the value of \(entry.key) has a character that metadata cannot carry")
            }
            options.metadata.append(HTTPField(name: name, value: value))
        }
    }

    // MARK: TLS

    /// The keys of a module's `tls_config`.
    static let tls: [Field<ProbeTLSOptions>] =
        [
            .value("ca", \.ca, Self.certificates), .value("ca_file", \.caFile, .optionalPath),
            .value("cert", \.certificate, Self.certificates), .value("cert_file", \.certificateFile, .optionalPath),
            .value("key", \.key, Self.privateKey), .value("key_file", \.keyFile, .optionalPath),
            .value("server_name", \.serverName, .serverName),
            .value("insecure_skip_verify", \.isInsecure, .boolean),
            .value("min_version", \.minVersion, .tlsVersion), .value("max_version", \.maxVersion, .tlsVersion),
        ] + ["ca", "cert", "key"].map { .refused("\($0)_ref", "needs a secret manager; give \($0) or \($0)_file") }

    private static let certificates = Self.pem(
        "the text contains no PEM certificate", ProbeTLSOptions.hasCertificate)
    private static let privateKey = Self.pem(
        "the text contains no PEM key without a passphrase", ProbeTLSOptions.hasKey)

    // An empty text means no value. The text may be a key, so no message quotes it.
    private static func pem(
        _ problem: String, _ isGood: @escaping @Sendable (String) -> Bool
    ) -> ValueParser<String?> {
        ValueParser { node throws(TextError) in
            guard case .scalar(let text) = node.content else { throw TextError("expected a text in PEM") }
            guard !text.isEmpty else { return nil }
            guard isGood(text) else { throw TextError(problem) }
            return text
        }
    }

    static func checkTLS(_ options: ProbeTLSOptions, _ section: inout SectionCheck) {
        for key in ["ca", "cert", "key"] { section.refuse(together: [key, "\(key)_file"]) }
        let hasCertificate = options.certificate != nil || options.certificateFile != nil
        if hasCertificate != (options.key != nil || options.keyFile != nil) {
            section.add("cert or cert_file has to be given together with key or key_file")
        }
        if !options.hasMatchingTexts { section.add("key does not match the certificate in cert") }
        if let lowest = options.minVersion, let highest = options.maxVersion, lowest > highest {
            section.add("min_version is above max_version")
        }
    }
}
