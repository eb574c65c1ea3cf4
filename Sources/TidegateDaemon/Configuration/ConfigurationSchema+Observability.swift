package import TidegateCore

extension Configuration {
    /// The `events` section: the size of the history, and what is redacted from URLs.
    package struct Events: Sendable, Hashable {
        package var history: Int?
        package var redaction = URLRedaction()
    }

    /// The `metrics` section: whether series have a host label.
    package struct Metrics: Sendable, Hashable {
        package var mode = Mode.off
        /// The hosts as in URLs: in lower case, or the canonical text of an address.
        package var hosts: [String] = []
        package var maxHosts = 50

        /// The values of `host_label`.
        package enum Mode: String, Sendable, CaseIterable {
            case off, allowlist, top
        }

        /// The host label of the monitor's metrics.
        package var hostLabel: HostLabel {
            switch self.mode {
            case .off: .off
            case .allowlist: .allowlist(Set(self.hosts))
            case .top: .top(limit: self.maxHosts)
            }
        }
    }
}

extension ConfigurationSchema {
    static let events: [Field<Configuration.Events>] = [
        .value("history", \.history, .number(in: 1...1_000_000)),
        .section(
            "redact", \.redaction, [.value("query", \.query, .boolean), .value("userinfo", \.userinfo, .boolean)]),
    ]

    static let metrics: [Field<Configuration.Metrics>] = [
        .value("host_label", \.mode, .hostLabel), .list("hosts", \.hosts, .labelledHost),
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

extension ValueParser<Configuration.Metrics.Mode> {
    fileprivate static let hostLabel = ValueParser.text("one of off, allowlist, top") { text throws(TextError) in
        guard let mode = Configuration.Metrics.Mode(rawValue: text) else {
            throw TextError("\"\(text)\" is not one of off, allowlist, top")
        }
        return mode
    }
}

extension ValueParser<String> {
    fileprivate static let labelledHost = ValueParser.text("a host") { text throws(TextError) in
        do throws(TargetError) {
            let target = try Target(text)
            if target.port == nil { return target.host }
        } catch {
            throw TextError(error.description)
        }
        throw TextError("\"\(text)\" has a port; the host label is the host name only")
    }
}
