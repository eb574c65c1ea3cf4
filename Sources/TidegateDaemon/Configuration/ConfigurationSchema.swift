internal import HTTPTypes
internal import Tidegate
internal import TidegateCore

/// The keys of the configuration file, section by section.
enum ConfigurationSchema {
    static let root: [Field<Configuration>] = [
        .section("reachability", \.reachability, Self.reachability),
        .section("transfers", \.transfers, Self.transfers),
        .section("journal", \.journal, Self.journal),
        .sections("tasks", \.tasks, blank: ScheduledTask(), Self.task, check: Self.checkTasks),
        .notAvailable("modules"), .notAvailable("probe_targets"), .notAvailable("probes"),
        .section("remote_write", \.remoteWrite, Self.remoteWrite, check: Self.checkRemoteWrite),
        .section("events", \.events, Self.events),
        .section("metrics", \.metrics, Self.metrics, check: Self.checkMetrics),
    ]

    // MARK: reachability

    static let reachability: [Field<Configuration.Reachability>] = [
        .section("interfaces", \.self, [.list("exclude", \.excludedInterfaces, .regularExpression)]),
        .section(
            "sentinels", \.self,
            [.list("ipv4", \.ipv4Sentinels, .sentinel(.ipv4)), .list("ipv6", \.ipv6Sentinels, .sentinel(.ipv6))],
            check: Self.checkSentinels),
        .sections("targets", \.targets, blank: Configuration.NamedTarget(), Self.target, check: Self.checkTargets),
        .section("metered", \.self, [.list("interfaces", \.meteredInterfaces, .regularExpression)]),
        .section("internet_check", \.internetCheck, Self.internetCheck, check: Self.checkInternetCheck),
        .value("mark", \.mark, .mark), .value("uid", \.uid, .userID),
    ]

    static let internetCheck: [Field<Configuration.InternetCheck>] = [
        .value("enabled", \.isEnabled, .boolean), .list("urls", \.urls, .checkURL),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(10))),
    ]

    static let target: [Field<Configuration.NamedTarget>] = [
        .value("name", \.name, .name, isRequired: true), .value("host", \.host, .host),
        .value("port", \.port, .port), .value("url", \.url, .checkURL),
        .value("check", \.check, ValueParser<TargetCheck.Kind>.name),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(1))),
        .value("timeout", \.timeout, ValueParser<Duration>.duration(atLeast: .milliseconds(10))),
    ]

    // MARK: transfers

    static let transfers: [Field<Configuration.Transfers>] = [
        .value("max_connections_per_host", \.connectionsPerHost, .number(in: 1...1000)),
        .value("max_connections", \.connections, .number(in: 1...100_000)),
        .value("proxy", \.proxy, .url),
        .section("tls", \.self, [.value("ca_file", \.certificateFile, .absolutePath), .notAvailable("pins")]),
        .section("retry", \.retry, Self.retry),
        .section("budget", \.budget, Self.budget),
        .section("gate", \.gate, Self.gate),
    ]

    static let retry: [Field<Configuration.Retry>] = [
        .value("attempts", \.attempts, .number(in: 1...1000)),
        .value("base", \.base, .duration(atLeast: .milliseconds(1))),
        .value("cap", \.cap, .duration(atLeast: .milliseconds(1))), .value("max_elapsed", \.maxElapsed, .limit),
        .list("statuses", \.statuses, .number(in: 400...599)),
    ]

    static let budget: [Field<Configuration.Budget>] = [
        .value("tokens", \.tokens, .number(in: 0...1e9)), .value("retry_cost", \.retryCost, .number(in: 0...1e9)),
        .value("connect_cost", \.connectCost, .number(in: 0...1e9)),
        .value("refill_per_second", \.refillPerSecond, .number(in: 0...1e9)),
    ]

    static let gate: [Field<Configuration.Gate>] = [
        .list("require", \.require, .requirement), .value("patience", \.patience, .limit),
    ]

    // MARK: journal

    static let journal: [Field<Configuration.Journal>] = [
        .value("keep_completed", \.keepCompleted, .duration(atLeast: .seconds(1))),
        .value("path_events", \.pathEvents, .duration(atLeast: .seconds(1))),
    ]

    // MARK: tasks

    static let task: [Field<ScheduledTask>] = [
        .value("name", \.name, .name, isRequired: true), .value("url", \.submission.url, .url, isRequired: true),
        .value("method", \.submission.method, .method),
        .headers("headers") { $0.submission.headers = ($0.submission.headers ?? []) + ["\($1.name): \($1.value)"] },
        .value("headers_file", \.headersFile, .absolutePath),
        .value("body_file", \.submission.bodyFile, .absolutePath),
        .value("every", \.every, .duration(atLeast: .seconds(1)), isRequired: true),
        .value("jitter", \.jitter, .percentage), .value("download", \.submission.output, .absolutePath),
        .value("mode", \.submission.mode, .fileMode), .value("timeout", \.timeout, .limit),
        .list("require", \.submission.require, .requirement), .section("retry", \.retry, Self.retry),
        .value("sha256", \.submission.sha256, .digest),
    ]

    // MARK: checks across keys

    @Sendable
    private static func checkTasks(
        _ tasks: [ScheduledTask], nodes: [ConfigurationNode], problems: inout ProblemList
    ) {
        problems.refuseDuplicates(of: "name", in: tasks.map(\.name), at: nodes)
        problems.refuseDuplicates(of: "download", in: tasks.map { $0.submission.output ?? "" }, at: nodes)
        for (task, node) in zip(tasks.map(\.submission), nodes) {
            if task.mode != nil, task.output == nil { problems.add("\"mode\" requires \"download\"", at: node) }
            guard task.bodyFile != nil else { continue }
            if let method = task.method, ["GET", "HEAD"].contains(method) {
                problems.add("\"body_file\" requires a method other than \(method)", at: node)
            }
            if task.output != nil { problems.add("\"body_file\" and \"download\" are mutually exclusive", at: node) }
        }
    }

    @Sendable
    private static func checkSentinels(
        _ reachability: Configuration.Reachability, node: ConfigurationNode, problems: inout ProblemList
    ) {
        for (key, addresses) in [("ipv4", reachability.ipv4Sentinels), ("ipv6", reachability.ipv6Sentinels)] {
            guard let list = node.value(of: key), addresses?.isEmpty == true, list.elements.isEmpty else { continue }
            problems.add("expected at least one address; omit the key for the defaults", at: list)
        }
    }

    @Sendable
    private static func checkInternetCheck(
        _ check: Configuration.InternetCheck, node: ConfigurationNode, problems: inout ProblemList
    ) {
        guard check.isEnabled, node.value(of: "urls")?.elements.isEmpty ?? true else { return }
        problems.add("\"enabled\" requires \"urls\"", at: node)
    }

    @Sendable
    private static func checkTargets(
        _ targets: [Configuration.NamedTarget], nodes: [ConfigurationNode], problems: inout ProblemList
    ) {
        problems.refuseDuplicates(of: "name", in: targets.map(\.name), at: nodes)
        problems.refuseDuplicates(of: "target", in: targets.map { $0.target?.description ?? "" }, at: nodes)
        for (target, node) in zip(targets, nodes) {
            guard case .section(let entries) = node.content else { continue }
            let keys = Set(entries.map(\.key))
            if let problem = target.problem(given: keys) { problems.add(problem, at: node) }
        }
    }
}

extension Configuration.NamedTarget {
    fileprivate func problem(given keys: Set<String>) -> String? {
        if keys.contains("url") {
            return keys.contains("host") || keys.contains("port") ? "\"url\" and \"host\" are mutually exclusive" : nil
        }
        if !keys.contains("host") { return "missing key \"host\" or \"url\"" }
        switch self.check {
        case .tcp, .tls: return self.port == nil ? "\"check\" requires \"port\"" : nil
        case .http, .some(.none), nil: return nil
        }
    }
}

extension ProblemList {
    fileprivate mutating func refuseDuplicates(of key: String, in values: [String], at nodes: [ConfigurationNode]) {
        var seen: Set<String> = [""]
        for (value, node) in zip(values, nodes) {
            if !value.isEmpty, !seen.insert(value).inserted {
                self.add("duplicate \(key) \"\(value)\"", at: node)
            }
        }
    }
}
