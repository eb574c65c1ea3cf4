internal import TidegateCore
internal import TidegateServer

extension ConfigurationSchema {
    static let events: [Field<Configuration.Events>] = [
        .value("history", \.history, .number(in: 1...1_000_000)).documented(
            "How many events are kept for clients that reconnect.", default: "\(EndpointConfiguration().eventHistory)"),
        .section(
            "redact", \.redaction,
            [
                .value("query", \.query, .boolean).documented("True leaves out queries.", default: "true"),
                .value("userinfo", \.userinfo, .boolean).documented(
                    "True leaves out user names and passwords.", default: "true"),
            ]),
    ]

    static let metrics: [Field<Configuration.Metrics>] = [
        .value("host_label", \.mode, .name).documented(
            "off, allowlist for those of hosts, or top for the first ones seen.", default: "off"),
        .list("hosts", \.hosts, .labelledHost).documented("The host names that metrics show.", default: "[]"),
        .value("max_hosts", \.maxHosts, .number(in: 1...1000)).documented(
            "How many they are at most.", default: "\(Configuration.Metrics().maxHosts)"),
    ]

    @Sendable
    static func checkMetrics(
        _ metrics: Configuration.Metrics, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let list = node.value(of: "hosts") ?? node
        switch metrics.mode {
        case .off: break
        case .allowlist where list.elements.isEmpty:
            problems.add("\"allowlist\" requires \"hosts\"", at: list)
        case .allowlist where Set(metrics.hosts).count > metrics.maxHosts:
            problems.add("\(metrics.hosts.count) hosts exceed \"max_hosts\" (\(metrics.maxHosts))", at: list)
        case .top where !list.elements.isEmpty:
            problems.add("\"hosts\" requires \"host_label: allowlist\"", at: list)
        case .allowlist, .top: break
        }
    }
}
