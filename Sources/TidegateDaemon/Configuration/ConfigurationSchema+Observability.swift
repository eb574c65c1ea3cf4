internal import TidegateCore

extension ConfigurationSchema {
    static let events: [Field<Configuration.Events>] = [
        .value("history", \.history, .number(in: 1...1_000_000)),
        .section(
            "redact", \.redaction, [.value("query", \.query, .boolean), .value("userinfo", \.userinfo, .boolean)]),
    ]

    static let metrics: [Field<Configuration.Metrics>] = [
        .value("host_label", \.mode, .name), .list("hosts", \.hosts, .labelledHost),
        .value("max_hosts", \.maxHosts, .number(in: 1...1000)),
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
