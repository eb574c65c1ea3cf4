package import TidegateCore

extension Configuration {
    /// The `events` section: what is kept of events, and what is left out of the URLs in them.
    package struct Events: Sendable, Hashable {
        package var history: Int?
        package var redaction = URLRedaction()
    }

    /// The `metrics` section: whether attempts are counted by host.
    package struct Metrics: Sendable, Hashable {
        package var mode = Mode.off
        /// The hosts as URLs name them: in lower case, or as the canonical text of an address.
        package var hosts: [String] = []
        package var maxHosts = 50

        /// The words of `host_label`.
        package enum Mode: String, Sendable, CaseIterable {
            case off, allowlist, top
        }

        /// What the monitor is told.
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
            "redact", \.redaction, [.value("query", \.query, .truth), .value("userinfo", \.userinfo, .truth)]),
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
            problems.add("\"allowlist\" needs \"hosts\" to tell apart", at: list)
        case .allowlist where Set(metrics.hosts).count > metrics.maxHosts:
            problems.add("\(metrics.hosts.count) hosts are more than \"max_hosts\", \(metrics.maxHosts)", at: list)
        case .top where !list.elements.isEmpty:
            problems.add("\"hosts\" needs \"host_label\" to be allowlist", at: list)
        case .allowlist, .top: break
        }
    }
}

extension ValueKind<Configuration.Metrics.Mode> {
    fileprivate static let hostLabel = ValueKind.text("one of off, allowlist, top") { text throws(TextError) in
        guard let mode = Configuration.Metrics.Mode(rawValue: text) else {
            throw TextError("\"\(text)\" is not one of off, allowlist, top")
        }
        return mode
    }
}

extension ValueKind<String> {
    fileprivate static let labelledHost = ValueKind.text("a host") { text throws(TextError) in
        do throws(TargetError) {
            let target = try Target(text)
            if target.port == nil { return target.host }
        } catch {
            throw TextError(error.description)
        }
        throw TextError("\"\(text)\" has a port: hosts are told apart by their names alone")
    }
}
