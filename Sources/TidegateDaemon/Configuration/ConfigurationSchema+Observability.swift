internal import Tidegate
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

    static let observation: [Field<ConnectionsConfiguration>] = [
        .value("connections", \.isEnabled, .boolean).documented(
            "False does not even open the kernel's sockets for it.", default: "true"),
        .value(
            "connecting_interval", \.connectingInterval, ValueParser<Duration>.duration(atLeast: .milliseconds(100))
        ).documented("From one list of the connections that are being opened to the next.", default: "1s"),
        .value("established_interval", \.establishedInterval, ValueParser<Duration>.duration(atLeast: .seconds(1)))
            .documented(
                "From one list of all connections to the next; stretched so that lists take 1 % of a processor at most.",
                default: "5s"),
        .value("loopback", \.includesLoopback, .boolean).documented(
            "True counts connections of this machine to itself, too.", default: "false"),
        .section(
            "exclude", \.self,
            [
                .list("remotes", \.excludedRemotes, .network).documented(
                    "Networks whose connections do not count, such as 10.0.0.0/8.", default: "[]"),
                .list("ports", .port) { $0.excludedPorts = Set($1) }.documented(
                    "Ports, of this host or of the remote, whose connections do not count.", default: "[]"),
            ]),
        .value("max_tracked", \.maxTracked, .number(in: 1...10_000_000)).documented(
            "How many connections are kept in mind; those beyond are counted at their end only.",
            default: "50000"),
        .value("receive_buffer", \.receiveBufferBytes, ValueParser<Int>.size(in: 4096...1 << 30)).documented(
            "For the kernel's messages; without CAP_NET_ADMIN net.core.rmem_max is the limit.", default: "8MiB"),
        .notAvailable("udp"),
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
