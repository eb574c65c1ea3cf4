internal import TidegateCore
internal import TidegateProbes

/// The keys `modules`, `probe_targets`, `probe_credentials`, `probe_body_budget` and `probes`.
enum ProbeSchema {
    /// blackbox_exporter's modules, as they stand in its configuration file.
    static let modules = Field<Configuration>.entries("modules") { configuration, entry, problems in
        var module = ProbeModule(prober: .http)
        module.text = ModuleText.text(of: entry.value)
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
                "What may not be probed, whatever allow says; also where redirects lead.",
                default: "[\(ProbeTargetPolicy.linkLocal.map { "\"\($0)\"" }.joined(separator: ", "))]"),
        ]
    ).documented("Which targets /probe asks. Changes apply when the file is reloaded.")

    /// Lists of hosts, each under the name of a module.
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
                "By how much of every a run is put off at most.", default: "10%"),
        ],
        check: { probes, list in list.refuseDuplicates(of: "name", in: probes.map(\.name)) }
    ).documented("Targets that the sidecar probes by itself. Changes apply when the file is reloaded.")

    private static let module: [Field<ProbeModule>] = [
        .value("prober", \.prober, .prober, isRequired: true),
        .value("timeout", \.timeout, ValueParser<Duration>.duration(atLeast: .zero)),
        .section("http", \.http, HTTPProbeSchema.fields, check: HTTPProbeSchema.check),
        .section("tcp", \.tcp, StreamProbeSchema.tcp),
        .section("unix", \.unix, StreamProbeSchema.stream, check: StreamProbeSchema.checkUnix),
        .section("icmp", \.icmp, ICMPProbeSchema.fields),
        .section("dns", \.dns, DNSProbeSchema.fields, check: DNSProbeSchema.check),
        .section("grpc", \.grpc, GRPCProbeSchema.fields),
        .section("websocket", \.websocket, WebSocketProbeSchema.fields),
    ]
}

/// The keys of a module's `icmp`.
enum ICMPProbeSchema {
    static let fields: [Field<ICMPProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        // The longest packet, less the headers of IPv4 and of ICMP.
        .value("payload_size", \.payloadSize, .number(in: 0...65_507)),
        .value("dont_fragment", \.forbidsFragments, .boolean),
        .value("ttl", \.hopLimit, .number(in: 0...255)),
    ]
}
