internal import HTTPTypes
internal import Tidegate
internal import TidegateServer
internal import TidegateStore

/// The keys of the configuration file, section by section.
enum ConfigurationSchema {
    static let root: [Field<Configuration>] = [
        .section("reachability", \.self, Self.reachability, isComparedByKey: true)
            .documented("What is watched, and which targets are checked. Changes need a restart."),
        .section("transfers", \.transfers, Self.transfers, isComparedByKey: true) { _, section in
            section.refuse(together: ["proxy", "proxy_file"])
        }.documented("How requests are made. Changes of retry and gate apply to the next runs, others need a restart."),
        .section("journal", \.journal, Self.journal)
            .documented("How long finished tasks are kept on disk. Changes need a restart."),
        .section(
            "incidents", \.incidentCommand,
            [
                .list("on_incident", \.self, .nonEmpty("word")).documented(
                    "A command with its arguments that gets each incident as JSON on its standard input. It runs without a "
                        + "shell, for 30 s at most.", default: "[]")
            ]
        ).documented("What is done about outages. Changes need a restart."),
        .section(
            "diagnosis", \.reachability.publicDiagnosis,
            [
                .value("public", \.self, ValueParser<PublicDiagnosis>.name).documented(
                    "auto or off: whether packets with limited hops go to the first of reachability.sentinels while "
                        + "something is silent, as traceroute would send them.", default: "auto")
            ]
        ).documented("Who is asked in an outage. Changes need a restart."),
        .section(
            "quality", \.measuresQuality,
            [
                .value("active", \.self, .boolean).documented(
                    "False sends no echoes to find out what is slow. Metered links are left alone in any case.",
                    default: "true")
            ]
        ).documented("How slowness is found. Changes need a restart."),
        .section(
            "uplinks", \.checksStandby,
            [
                .value("standby", \.self, .boolean).documented(
                    "False sends nothing over ways out that are not used. Metered links are left alone in any case.",
                    default: "true")
            ]
        ).documented("Whether ways out that are not used alone are asked each minute. Changes need a restart."),
        .section(
            "labels", \.labels,
            [
                .value("site", \.site, .nonEmpty("name")).documented("Where this host is.", default: "berlin"),
                .value("provider", \.provider, .nonEmpty("name")).documented(
                    "Who connects it to the internet.", default: "example-isp"),
            ]
        ).documented("Labels of tidegate_info, for rules about many hosts. Changes need a restart."),
        .section("control", \.memberDirectories, Self.control)
            .documented("What members of the control socket's group may do. Changes need a restart."),
        .sections("tasks", \.tasks, blank: ScheduledTask(), Self.task, check: Self.checkTasks).reloaded
            .documented("Scheduled requests of the sidecar. Changes apply when the file is reloaded."),
        ProbeSchema.modules.reloaded, ProbeSchema.targets.reloaded, ProbeSchema.credentials.reloaded,
        ProbeSchema.bodyBudget, ProbeSchema.scheduled.reloaded,
        .section("remote_write", \.remoteWrite, Self.remoteWrite, check: Self.checkRemoteWrite)
            .documented("Sends samples where Prometheus cannot scrape. Changes need a restart."),
        .section("events", \.events, Self.events)
            .documented("The history of events, and the parts of URLs in them. Changes need a restart."),
        .section("metrics", \.metrics, Self.metrics, check: Self.checkMetrics)
            .documented("Which host names metrics show. Changes need a restart."),
        .section("observation", \.observation, Self.observation)
            .documented("How other programs' connections are observed. Changes need a restart."),
    ]

    // MARK: reachability

    static let reachability: [Field<Configuration>] = [
        .section(
            "interfaces", \.reachability.excludedInterfaces,
            [
                .list("exclude", \.self, .regularExpression).documented(
                    "Links left out of metrics and events, as regular expressions that match the whole name.",
                    default: Self.yaml(ReachabilityConfiguration.defaultExcludedInterfaces))
            ]),
        .section(
            "sentinels", \.reachability.sentinels,
            [
                .list("ipv4", \.[.ipv4], .sentinel(.ipv4)).documented(
                    "IPv4 addresses that stand for the internet in route lookups. Only hop walks send packets, to the first one.",
                    default: Self.sentinels(.ipv4)),
                .list("ipv6", \.[.ipv6], .sentinel(.ipv6)).documented(
                    "The same for IPv6.", default: Self.sentinels(.ipv6)),
            ],
            check: Self.checkSentinels),
        .sections("targets", \.targets, blank: Configuration.NamedTarget(), Self.target, check: Self.checkTargets)
            .documented("Hosts, ports and URLs that are monitored permanently."),
        .section(
            "metered", \.reachability.meteredInterfaces,
            [
                .list("interfaces", \.self, .regularExpression).documented(
                    "Links whose traffic costs money, as regular expressions that match the whole name.",
                    default: "[]")
            ]),
        .section("internet_check", \.reachability.internetCheck, Self.internetCheck, check: Self.checkInternetCheck),
        .value("mark", \.reachability.mark, .mark).documented(
            "The firewall mark to look up routes with, such as 0xca6c."),
        .value("uid", \.reachability.uid, .userID).documented(
            "The user id to look up routes for; null is the sidecar's own."),
    ]

    static let internetCheck: [Field<InternetCheckPolicy>] = [
        .value("enabled", \.isEnabled, .boolean).documented(
            "True requests the URLs periodically; otherwise nothing checks whether the internet answers.",
            default: "false"),
        .list("urls", \.urls, .text("a URL") { try (HTTPURL($0), InternetCheckURL($0)).1 })
            .documented(
                "Best two operators, over http and https. Over http a URL has to answer 204, or 200 without a body.",
                default: "[]"),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(10))).documented(
            "From one success to the next check.", default: "5m"),
    ]

    static let target: [Field<Configuration.NamedTarget>] = [
        .value("name", \.name, .name, isRequired: true).documented(
            "Required: the target's name in metrics and on the page.", default: "api"),
        .value("host", \.host, .host).documented("A name or an address; or url instead.", default: "api.example.com"),
        .value("port", \.port, .port).documented("The TCP port.", default: "443"),
        .value("url", \.url, ValueParser<String>.checkURL).documented("What is requested, instead of host and port."),
        .value("check", \.check, ValueParser<TargetCheck.Kind>.name).documented(
            "none, tcp, tls or http; null is http with a url, tcp with a port, and none otherwise."),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(1))).documented(
            "From one check to the next.", default: "15s"),
        .value("timeout", \.timeout, ValueParser<Duration>.duration(atLeast: .milliseconds(10))).documented(
            "How long the target has to answer.", default: "5s"),
        .value("objective", \.objective, .percentage).documented(
            "The wanted share of time in which it is reached, such as 99.9%, for burn-rate alerts.", default: "99.9%"),
    ]

    // MARK: transfers

    static let transfers: [Field<Configuration.Transfers>] = [
        .value("max_connections_per_host", \.session.maxConnectionsPerHost, .number(in: 1...1000)).documented(
            "The maximum number of connections per origin.", default: "\(SessionConfiguration().maxConnectionsPerHost)"),
        .value("max_connections", \.session.maxConnections, .number(in: 1...100_000)).documented(
            "The maximum number of connections in total.", default: "\(SessionConfiguration().maxConnections)"),
        .value("max_filesize", \.session.maxBodyBytes, ValueParser<Int>.size(in: 1...(1 << 60))).documented(
            "How large a response's body may be, decoded, such as 500MiB; null is no limit."),
        .value("proxy", \.session.proxy.both, ValueParser<String>.proxy).documented(
            "A proxy of http, https, socks4a, socks5 or socks5h: SCHEME://USER:PASSWORD@HOST:PORT. The environment is not read."
        ),
        .value("proxy_file", ValueParser<String>.proxyFile) { $0.session.proxy.both = $1 }.documented(
            "A file with the proxy, read when the sidecar starts, to keep its password out of this one."),
        .list("no_proxy", \.session.proxy.exceptions, ValueParser<String>.proxyException).documented(
            "Hosts, domains, networks, each perhaps with a port, or \"*\": what is connected to directly.",
            default: "[]"),
        .section("tls", \.session.tls, TLSSchema.fields, check: TLSSchema.check).documented(
            "Which servers are trusted, and the client certificate."),
        .value("redirects", \.session.redirects, ValueParser<RedirectPolicy>.name).documented(
            "Which redirects are followed: same-origin, no-downgrade (not from https to http) or free, which also takes "
                + "credentials along.", default: SessionConfiguration().redirects.rawValue),
        .value("allow_private_redirects", \.session.allowsPrivateRedirects, .boolean).documented(
            "True lets a server with a public address redirect to a loopback or link-local address; the protection of "
                + "credentials stays.", default: "false"),
        .value("tracing", \.session.startsTraces, .boolean).documented(
            "True gives every request the field traceparent (W3C Trace Context) and its events the trace's id.",
            default: "false"),
        .section("retry", \.retry, Self.retry).reloaded.documented("When a failed request is tried again."),
        .section("budget", \.session.budget, Self.budget).documented(
            "What retries cost, for each origin: while its tokens are used up, tasks wait."),
        .section("gate", \.session.gate, Self.gate).reloaded.documented("What a task waits for before it is sent."),
    ]

    static let retry: [Field<Configuration.Retry>] = [
        .value("attempts", \.attempts, .number(in: 1...1000)).documented(
            "The maximum number of attempts in a row; those that a lost path ends, or that bring a part of a download, do "
                + "not count.", default: "\(RetryPolicy().attempts)"),
        .value("base", \.base, .duration(atLeast: .milliseconds(1))).documented(
            "The first wait between attempts, which doubles.", default: "\(DurationText(RetryPolicy().base))"),
        .value("cap", \.cap, .duration(atLeast: .milliseconds(1))).documented(
            "The longest wait.", default: "\(DurationText(RetryPolicy().cap))"),
        .value("max_elapsed", \.maxElapsed, .limit).documented(
            "How long all attempts may take together; time without a path does not count.",
            default: "\(DurationText(RetryPolicy().maxElapsed))"),
        .list("statuses", \.statuses, .number(in: 400...599)).documented(
            "The statuses after which a request is tried again.",
            default: "\(RetryPolicy().statuses.sorted())"),
    ]

    static let budget: [Field<RetryBudgetPolicy>] = [
        .value("tokens", \.tokens, .number(in: 0...1e9)).documented(
            "The maximum number of tokens.", default: "\(RetryBudgetPolicy().tokens)"),
        .value("retry_cost", \.retryCost, .number(in: 0...1e9)).documented(
            "What a retry costs.", default: "\(RetryBudgetPolicy().retryCost)"),
        .value("connect_cost", \.connectCost, .number(in: 0...1e9)).documented(
            "What a retry costs after a failed connection.", default: "\(RetryBudgetPolicy().connectCost)"),
        .value("refill_per_second", \.refillPerSecond, .number(in: 0...1e9)).documented(
            "The number of tokens added per second.", default: "\(RetryBudgetPolicy().refillPerSecond)"),
    ]

    static let gate: [Field<GatePolicy>] = [
        .list("require", \.require, .requirement).documented(
            "none, routed, online, unmetered or interface:NAME; all have to hold.", default: "[routed]"),
        .value("patience", \.patience, .limit).documented("How long a task waits before it fails.", default: "inf"),
    ]

    // MARK: journal

    static let journal: [Field<Configuration.Journal>] = [
        .value("keep_completed", \.retention.completed, .duration(atLeast: .seconds(1))).documented(
            "How long finished tasks are kept.", default: "1d"),
        .value("path_events", \.retention.pathEvents, .duration(atLeast: .seconds(1))).documented(
            "How long changes of paths are kept.", default: "7d"),
        .value("max_open_tasks", \.maxOpenTasks, .number(in: 1...1_000_000)).documented(
            "How many tasks may be open at a time; more submissions are refused.",
            default: "\(Configuration.Journal().maxOpenTasks)"),
    ]

    // MARK: control

    static let control: [Field<[String]>] = [
        .list("directories", \.self, .absolutePath).documented(
            "Their tasks may read and write files below these directories only; without any, no files.", default: "[]")
    ]

    // MARK: tasks

    static let task: [Field<ScheduledTask>] = [
        .value("name", \.name, .name, isRequired: true).documented(
            "Required: the task's name in metrics, events and on the page.", default: "config-sync"),
        .value("url", \.submission.url, .url, isRequired: true).documented(
            "Required: what is requested.", default: "https://example.com/config.tar"),
        .value("method", \.submission.method, .method).documented("null is GET, and POST with a body_file or a form."),
        .headers("headers") { $0.submission.headers = ($0.submission.headers ?? []) + ["\($1.name): \($1.value)"] }
            .documented("Header fields, by name.", default: "{}"),
        .value("headers_file", \.headersFile, .absolutePath).documented(
            "A file with a header field on each line, read at each run; for secrets."),
        .value("body_file", \.submission.bodyFile, .absolutePath).documented("The file to send."),
        .mapping("form") { task, entry throws(TextError) in
            task.form.append(.init(name: entry.key, value: try ValueParser<String>.text.parse(entry.value)))
        }.documented(
            "The parts of a form to POST, by name; @/PATH sends a file, which is read at each run.", default: "{}"),
        .value("every", \.every, .duration(atLeast: .seconds(1)), isRequired: true).documented(
            "Required: from one run to the next; a run is left out while the last one is not over.", default: "5m"),
        .value("jitter", \.jitter, .percentage).documented("Maximum random delay as a share of every.", default: "10%"),
        .value("download", \.submission.output, .absolutePath).documented("The file that is replaced by the response."),
        .value("mode", \.submission.mode, .fileMode).documented("The permissions of the file, such as \"0640\"."),
        .value("timeout", \.timeout, .limit).documented("How long an attempt, and all of them together, may take."),
        .list("require", \.submission.require, .requirement).documented("Like transfers.gate.require, the default."),
        .section("retry", \.retry, Self.retry.map { $0.documented("") }).documented(
            "Like transfers.retry, the default."),
        .value("compressed", \.submission.compressed, .boolean).documented(
            "True requests a compressed response and decodes it; such a download cannot be resumed.",
            default: "false"),
        .value("conditional", \.submission.conditional, .boolean).documented(
            "True keeps the file of download if the server says that it is still current (ETag, Last-Modified).",
            default: "false"),
        .value("cookies", \.submission.cookies, .boolean).documented(
            "True sends and keeps cookies, which all tasks with this key share, in memory.", default: "false"),
        .value("sha256", \.submission.sha256, .digest).documented("The required SHA-256 digest of the response."),
    ]

    // MARK: remote write

    static let remoteWrite: [Field<Configuration.RemoteWrite>] = [
        .value("url", \.url, .url).documented("The receiver's URL; null sends nothing."),
        .value("buffer", \.bound, ValueParser<ByteText>.size(in: 1 << 20...1 << 40).map(\.bytes)).documented(
            "How much is kept on disk; when it is full, the oldest samples are dropped and counted.", default: "64MiB"),
        .value("interval", \.interval, .duration(atLeast: .seconds(1))).documented(
            "From one sample of every metric to the next.", default: "15s"),
        .mapping("labels") { (section, entry) throws(TextError) in
            let value = try ValueParser<String>.text.parse(entry.value)
            // Prometheus reserves names that begin with two underscores.
            guard entry.key.isLabelName else { throw TextError("\"\(entry.key)\" is not a valid label name") }
            section.labels.append(.init(entry.key, value))
        }.documented("Labels of every series; job is tidegate and instance the host name without them.", default: "{}"),
        .headers("headers") { $0.headers.append($1) }.documented("Header fields of every request.", default: "{}"),
        .section(
            "basic_auth", \.self,
            [
                .value("username", \.user, .text).documented("The user's name."),
                .value("password_file", \.passwordFile, .absolutePath).documented("A file with the password."),
            ]),
        .value("bearer_token_file", \.tokenFile, .absolutePath).documented(
            "A file with a token, instead of basic_auth."),
        .section(
            "tls", \.self,
            [
                .value("ca_file", \.certificateFile, .absolutePath).documented(
                    "A PEM file of authorities that are trusted instead of those of transfers.tls.")
            ]),
    ]

    // The headers that the protocol sets.
    private static let reservedHeaders: Set<String> = [
        "content-encoding", "content-type", "content-length", "x-prometheus-remote-write-version", "user-agent", "host",
    ]

    private static func checkRemoteWrite(_ write: Configuration.RemoteWrite, _ section: inout SectionCheck) {
        if (write.user == nil) != (write.passwordFile == nil) {
            let node = section.node.value(of: "basic_auth")
            section.add("\"username\" and \"password_file\" must both be set", at: node)
        }
        if let token = section.node.value(of: "bearer_token_file"), write.tokenFile != nil, write.user != nil {
            section.add("\"basic_auth\" and \"bearer_token_file\" are mutually exclusive", at: token)
        }
        guard case .section(let headers) = section.node.value(of: "headers")?.content else { return }
        let hasSecret = write.user != nil || write.tokenFile != nil
        for entry in headers {
            let name = entry.key.lowercased()
            if self.reservedHeaders.contains(name) {
                section.add("this header is set by remote write", at: entry.value)
            } else if name == "authorization", hasSecret {
                section.add("\"Authorization\" is already set by basic_auth or bearer_token_file", at: entry.value)
            }
        }
    }

    // MARK: events, metrics and observation

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
            "The maximum number of host names.", default: "\(Configuration.Metrics().maxHosts)"),
    ]

    static let observation: [Field<ConnectionsConfiguration>] = [
        .value("connections", \.isEnabled, .boolean).documented(
            "False also keeps the kernel's sockets for it closed.", default: "true"),
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
                // Networks, or single addresses.
                .list("remotes", \.excludedRemotes, .text("a network") { try IPPrefix(parsing: $0) }).documented(
                    "Networks whose connections do not count, such as 10.0.0.0/8.", default: "[]"),
                .list("ports", .port) { $0.excludedPorts = Set($1) }.documented(
                    "Ports, of this host or of the remote, whose connections do not count.", default: "[]"),
            ]),
        .value("max_tracked", \.maxTracked, .number(in: 1...10_000_000)).documented(
            "The maximum number of tracked connections; others are only counted when they end.",
            default: "50000"),
        .value("receive_buffer", \.receiveBufferBytes, ValueParser<Int>.size(in: 4096...1 << 30)).documented(
            "For the kernel's messages; without CAP_NET_ADMIN net.core.rmem_max is the limit.", default: "8MiB"),
        // Only false: nothing observes UDP.
        .value("udp", .off(or: "UDP is not observed")) { _, _ in }.documented(
            "Only false is supported.", default: "false"),
    ]

    private static func checkMetrics(_ metrics: Configuration.Metrics, _ section: inout SectionCheck) {
        let list = section.node.value(of: "hosts") ?? section.node
        switch metrics.mode {
        case .off: break
        case .allowlist where list.elements.isEmpty:
            section.add("\"allowlist\" requires \"hosts\"", at: list)
        case .allowlist where Set(metrics.hosts).count > metrics.maxHosts:
            section.add("\(metrics.hosts.count) hosts exceed \"max_hosts\" (\(metrics.maxHosts))", at: list)
        case .top where !list.elements.isEmpty:
            section.add("\"hosts\" requires \"host_label: allowlist\"", at: list)
        case .allowlist, .top: break
        }
    }

    // MARK: texts

    /// A list as YAML writes it on one line.
    private static func yaml(_ values: [String]) -> String { JSONValue.array(values.map { .string($0) }).description }

    private static func sentinels(_ family: AddressFamily) -> String {
        self.yaml((ReachabilityConfiguration.defaultSentinels[family] ?? []).map(\.description))
    }

    // MARK: checks across keys

    private static func checkTasks(_ tasks: [ScheduledTask], _ list: inout SectionCheck) {
        list.refuseDuplicates(of: "name", in: tasks.map(\.name))
        list.refuseDuplicates(of: "download", in: tasks.map { $0.submission.output ?? "" })
        for (scheduled, node) in zip(tasks, list.node.elements) {
            let (task, form) = (scheduled.submission, scheduled.form)
            if task.mode != nil, task.output == nil { list.add("\"mode\" requires \"download\"", at: node) }
            if task.conditional == true, task.output == nil {
                list.add("\"conditional\" requires \"download\"", at: node)
            }
            let bodies = [task.bodyFile == nil ? nil : "body_file", form.isEmpty ? nil : "form"].compactMap(\.self)
            guard let body = bodies.first else { continue }
            if bodies.count > 1 { list.add("\"body_file\" and \"form\" are mutually exclusive", at: node) }
            if let method = task.method, ["GET", "HEAD"].contains(method) {
                list.add("\"\(body)\" requires a method other than \(method)", at: node)
            }
            if task.output != nil { list.add("\"\(body)\" and \"download\" are mutually exclusive", at: node) }
        }
    }

    private static func checkSentinels(_ sentinels: [AddressFamily: [IPAddress]], _ section: inout SectionCheck) {
        for (key, family) in [("ipv4", AddressFamily.ipv4), ("ipv6", .ipv6)] {
            guard let list = section.node.value(of: key), sentinels[family]?.isEmpty == true, list.elements.isEmpty
            else { continue }
            section.add("expected at least one address; omit the key for the defaults", at: list)
        }
    }

    private static func checkInternetCheck(_ check: InternetCheckPolicy, _ section: inout SectionCheck) {
        guard check.isEnabled, section.node.value(of: "urls")?.elements.isEmpty ?? true else { return }
        section.add("\"enabled\" requires \"urls\"")
    }

    private static func checkTargets(_ targets: [Configuration.NamedTarget], _ list: inout SectionCheck) {
        list.refuseDuplicates(of: "name", in: targets.map(\.name))
        list.refuseDuplicates(of: "target", in: targets.map { $0.target?.encoded ?? "" })
        for (target, node) in zip(targets, list.node.elements) {
            guard case .section(let entries) = node.content else { continue }
            let keys = Set(entries.filter { $0.value.isGiven }.map(\.key))
            if let problem = target.problem(given: keys) { list.add(problem, at: node) }
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
