import Foundation
internal import HTTPTypes
import Testing
import Tidegate

@testable import TidegateDaemon

@Suite struct ConfigurationTests {
    static let full = """
        reachability:
          interfaces: {exclude: ["lo", "veth.*"]}
          sentinels: {ipv4: [192.0.2.1, 198.51.100.1], ipv6: ["2001:db8::1"]}
          targets: [{name: api, host: api.example.com, port: 443}, {name: lan, host: "::1"}]
          metered: {interfaces: ["wwan.*"]}
          internet_check: {enabled: true, urls: ["http://a.example/generate_204", "https://b.example/"], interval: 1m}
          mark: 0xca6c
          uid: 1000
        transfers:
          max_connections_per_host: 2
          max_connections: 10
          proxy: http://proxy.example:3128
          tls: {ca_file: /etc/ssl/own.pem}
          retry: {attempts: 7, base: 250ms, cap: 1m, max_elapsed: inf, statuses: [503]}
          budget: {tokens: 100, retry_cost: 10, connect_cost: 1, refill_per_second: 0.5}
          gate: {require: [routed, unmetered], patience: 5m}
        tasks:
          - {name: config-sync, url: "https://u.example/c", method: GET, headers: {X-Key: "1"}, headers_file: null,
             body_file: null, every: 5m, jitter: 20%, download: /var/lib/app/config.tar, mode: "0640", timeout: 10m,
             require: ["interface:eth0"], retry: {attempts: 2}}
        """

    @Test("A full file is read whole")
    func fullFile() throws {
        let configuration = try Configuration.parse(Self.full, file: "t.yml")
        let reachability = configuration.reachability
        #expect(reachability.excludedInterfaces == ["lo", "veth.*"])
        #expect(
            reachability.sentinels[.ipv4] == [IPAddress("192.0.2.1"), IPAddress("198.51.100.1")].compactMap(\.self))
        #expect(reachability.sentinels[.ipv6]?.count == 1)
        #expect(configuration.targets.map(\.target?.description) == ["api.example.com:443", "::1"])
        #expect(reachability.meteredInterfaces == ["wwan.*"])
        #expect(reachability.internetCheck.isEnabled && reachability.internetCheck.interval == .seconds(60))
        #expect(reachability.internetCheck.urls.map(\.text) == ["http://a.example/generate_204", "https://b.example/"])
        #expect(reachability.mark == 51_820 && reachability.uid == 1000)
        let transfers = configuration.transfers
        #expect(transfers.session.maxConnectionsPerHost == 2 && transfers.session.maxConnections == 10)
        #expect(
            transfers.session.proxy == ProxyPolicy("http://proxy.example:3128")
                && transfers.session.tls.caFile == "/etc/ssl/own.pem")
        #expect(transfers.retry.attempts == 7 && transfers.retry.base == .milliseconds(250))
        #expect(transfers.retry.maxElapsed == DurationText(nil) && transfers.retry.statuses == [503])
        #expect(transfers.session.budget.refillPerSecond == 0.5)
        #expect(transfers.session.gate.require == [.routed, .unmetered])
        #expect(transfers.session.gate.patience == .seconds(300))
        let task = try #require(configuration.tasks.first)
        #expect(
            task.name == "config-sync" && task.submission.url == "https://u.example/c" && task.every == .seconds(300))
        #expect(task.submission.headers == ["X-Key: 1"] && task.submission.require == ["interface:eth0"])
        #expect(
            task.jitter == 0.2 && task.submission.mode == "0640" && task.submission.output == "/var/lib/app/config.tar")
        let retry = task.retry.merged(withDefaults: transfers.retry)
        #expect(task.timeout?.duration == .seconds(600) && retry.attempts == 2 && retry.cap == .seconds(60))
    }

    @Test(
        "A file without content means the defaults", arguments: ["", "# nothing\n", "reachability:\n", "tasks: []\n"])
    func emptyFile(_ text: String) throws {
        #expect(try Configuration.parse(text, file: "t.yml") == Configuration())
    }

    @Test("Defaults make a monitor's configuration, and so does a full file", arguments: ["", Self.full])
    func monitorConfiguration(_ text: String) throws {
        let monitor = try Configuration.parse(text, file: "t.yml").monitorConfiguration(version: "1")
        #expect(monitor.session.userAgent == "tidegate/1")
        #expect(monitor.session.retry.attempts == (text.isEmpty ? 4 : 7))
        #expect(monitor.reachability.sentinels[.ipv4]?.isEmpty == false)
        #expect(monitor.targetNames.count == (text.isEmpty ? 0 : 2))
        let check = monitor.reachability.internetCheck
        #expect(check.isEnabled == !text.isEmpty && check.urls.count == (text.isEmpty ? 0 : 2))
        #expect(check.interval == .seconds(text.isEmpty ? 300 : 60))
        #expect(monitor.reachability.mark == (text.isEmpty ? nil : 51_820))
        #expect(monitor.reachability.uid == (text.isEmpty ? nil : 1000))
    }

    @Test("Checks that are named and not enabled are kept for later, and send no requests")
    func checksInReserve() throws {
        let text =
            "reachability: {internet_check: {enabled: false, urls: [http://a.example/generate_204], interval: 5m}}"
        let configuration = try Configuration.parse(text, file: "t.yml")
        #expect(configuration.reachability.internetCheck.urls.count == 1)
        #expect(try configuration.monitorConfiguration(version: "1").reachability.internetCheck == .off)
    }

    @Test("Online can be required where the internet is looked for")
    func online() throws {
        let text = """
            reachability: {internet_check: {enabled: true, urls: [http://a.example/generate_204]}}
            transfers: {gate: {require: [online]}}
            """
        #expect(try Configuration.parse(text, file: "t.yml").transfers.session.gate.require == [.online])
    }

    // Every kind of mistake, each with the whole message.
    static let mistakes: [(String, String)] = [
        ("reachabilty: {}", "t.yml:1: reachabilty: unknown key (did you mean \"reachability\"?)"),
        ("transfers:\n  speed: 3", "t.yml:2: transfers.speed: unknown key"),
        (
            "transfers:\n  retry:\n    atempts: 3",
            "t.yml:3: transfers.retry.atempts: unknown key (did you mean \"attempts\"?)"
        ),
        (
            "transfers: {max_connections: many}",
            "t.yml:1: transfers.max_connections: expected a whole number, found \"many\""
        ),
        ("transfers: {max_connections: 0}", "t.yml:1: transfers.max_connections: 0 is below the minimum of 1"),
        (
            "transfers: {max_connections: [1]}",
            "t.yml:1: transfers.max_connections: expected a whole number, found a list"
        ),
        ("transfers: [1]", "t.yml:1: transfers: expected a mapping, found a list"),
        ("transfers: fast", "t.yml:1: transfers: expected a mapping, found \"fast\""),
        ("- 1", "t.yml:1: expected a mapping, found a list"),
        ("tasks: {}", "t.yml:1: tasks: expected a list, found a mapping"),
        (
            "transfers: {retry: {base: 5}}",
            "t.yml:1: transfers.retry.base: \"5\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        ("transfers: {retry: {base: inf}}", "t.yml:1: transfers.retry.base: must be finite"),
        (
            "transfers: {retry: {statuses: [503, 200]}}",
            "t.yml:1: transfers.retry.statuses[1]: 200 is below the minimum of 400"
        ),
        (
            "transfers: {gate: {require: [up]}}",
            "t.yml:1: transfers.gate.require[0]: \"up\" is not one of none, routed, online, unmetered, interface:NAME"
        ),
        (
            "transfers: {proxy: ftp://x}",
            "t.yml:1: transfers.proxy: \"ftp://x\" is not a proxy of http, https, socks4a, socks5 or socks5h"
        ),
        ("transfers:\n  proxy: null\n  proxy: null", "t.yml:2: duplicate key \"proxy\""),
        ("transfers: {", "t.yml:2: invalid YAML: did not find expected node content (column 1)"),
        (
            "reachability: {interfaces: {exclude: [\"(\"]}}",
            "t.yml:1: reachability.interfaces.exclude[0]: \"(\" is not a regular expression"
        ),
        (
            "reachability: {sentinels: {ipv4: [\"::1\"]}}",
            "t.yml:1: reachability.sentinels.ipv4[0]: \"::1\" is not an IPv4 address"
        ),
        (
            "reachability: {targets: [{name: a, host: \"a:443\"}]}",
            "t.yml:1: reachability.targets[0].host: \"a:443\" has a port; use the key \"port\""
        ),
        (
            "reachability: {targets: [{name: a, host: a, port: 0}]}",
            "t.yml:1: reachability.targets[0].port: \"0\" is not a port from 1 to 65535"
        ),
        (
            "reachability: {sentinels: {ipv4: [127.0.0.1]}}",
            "t.yml:1: reachability.sentinels.ipv4[0]: \"127.0.0.1\" is not a routable address"
        ),
        (
            "reachability: {sentinels: {ipv6: [\"2001:db8::1\", \"fe80::1\"]}}",
            "t.yml:1: reachability.sentinels.ipv6[1]: \"fe80::1\" is not a routable address"
        ),
        (
            "reachability:\n  sentinels: {ipv6: []}",
            "t.yml:2: reachability.sentinels.ipv6: expected at least one address; omit the key for the defaults"
        ),
        (
            "reachability: {targets: [{name: a, host: b\u{FFFD}cher.example}]}",
            "t.yml:1: reachability.targets[0].host: \"b\u{FFFD}cher.example\" has characters that no host name has"
        ),
        (
            "reachability: {mark: blue}",
            "t.yml:1: reachability.mark: \"blue\" is not a firewall mark (such as 51820 or 0xca6c)"
        ),
        ("reachability: {uid: -1}", "t.yml:1: reachability.uid: \"-1\" is not a user id"),
    ]

    static let checkMistakes: [(String, String)] = [
        ("{enabled: maybe}", "internet_check.enabled: expected true or false, found \"maybe\""),
        ("{enabled: true}", "internet_check: \"enabled\" requires \"urls\""),
        ("{enabled: true, urls: []}", "internet_check: \"enabled\" requires \"urls\""),
        ("{urls: http://a.example/}", "internet_check.urls: expected a list, found \"http://a.example/\""),
        ("{urls: [a.example]}", "internet_check.urls[0]: \"a.example\" is not an http:// or https:// URL"),
        (
            "{urls: [http://a.example/, ftp://a.example/]}",
            "internet_check.urls[1]: \"ftp://a.example/\" is not an http:// or https:// URL"
        ),
        ("{interval: 5s}", "internet_check.interval: 5s is below the minimum of 10s"),
        ("{interval: inf}", "internet_check.interval: must be finite"),
        ("{every: 5m}", "internet_check.every: unknown key"),
        ("{url: http://a.example/}", "internet_check.url: unknown key (did you mean \"urls\"?)"),
        ("[1]", "internet_check: expected a mapping, found a list"),
    ]

    @Test("Every mistake in internet checks is named with its key", arguments: Self.checkMistakes)
    func checkMistakeMessages(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("reachability:\n  internet_check: \(text)\n", file: "t.yml")
        }
        #expect(error.description == "t.yml:2: reachability.\(message)")
    }

    @Test("Online is refused wherever nothing looks for the internet")
    func onlineWithoutChecks() throws {
        let text = """
            transfers: {gate: {require: [routed, online]}}
            tasks:
              - {name: a, url: "http://a/", every: 1m, require: [online]}
            """
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        let why = "\"online\" requires reachability.internet_check to be enabled"
        #expect(
            error.problems.map(\.description) == [
                "t.yml:1: transfers.gate.require[1]: \(why)", "t.yml:3: tasks[0].require[0]: \(why)",
            ])
    }

    @Test("Every mistake is named with its line and key", arguments: Self.mistakes)
    func mistakeMessages(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error.description == message)
    }

    static let taskMistakes: [(String, String)] = [
        ("{name: a, url: \"http://a/\"}", "tasks[0]: missing key \"every\""),
        ("{url: \"http://a/\", every: 1m}", "tasks[0]: missing key \"name\""),
        ("{name: a, url: null, every: 1m}", "tasks[0].url: expected a URL, found nothing"),
        (
            "{name: a b, url: \"http://a/\", every: 1m}",
            "tasks[0].name: \"a b\" is not a name (1 to 64 letters, digits, dots, hyphens and underscores)"
        ),
        ("{name: a, url: \"http://a/\", every: 10ms}", "tasks[0].every: 10ms is below the minimum of 1s"),
        (
            "{name: a, url: \"http://a/\", every: 1m, jitter: 10}",
            "tasks[0].jitter: \"10\" is not a percentage from 0% to 100%"
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, download: x.tar}",
            "tasks[0].download: \"x.tar\" is not an absolute file path"
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, download: /x, mode: \"0999\"}",
            "tasks[0].mode: \"0999\" is not a file mode (such as \"0640\")"
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, mode: \"0640\"}",
            "tasks[0]: \"mode\" requires \"download\""
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, method: get}",
            "tasks[0].method: \"get\" is not a method (such as GET or POST)"
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, headers: {\"X Y\": 1}}",
            "tasks[0].headers.X Y: \"X Y: 1\" is not a header field (expected 'Name: value')"
        ),
        (
            "{name: a, url: \"http://a/\", every: 1m, sha256: abc}",
            "tasks[0].sha256: \"abc\" is not a SHA-256 digest (64 hexadecimal digits)"
        ),
    ]

    @Test("Every mistake in a task is named with its key", arguments: Self.taskMistakes)
    func taskMistakeMessages(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("tasks:\n  - \(text)\n", file: "t.yml")
        }
        #expect(error.description == "t.yml:2: \(message)")
    }

    @Test(
        "Every mistake in incidents, labels and objectives is named with its key",
        arguments: [
            ("labels: {site: \"\"}", "labels.site: the name is empty"),
            ("labels: {site: [x]}", "labels.site: expected a name, found a list"),
            ("incidents: {on_incident: [\"\"]}", "incidents.on_incident[0]: the word is empty"),
            (
                "reachability: {targets: [{name: a, host: h, objective: 200%}]}",
                "reachability.targets[0].objective: \"200%\" is not a percentage from 0% to 100%"
            ),
        ])
    func incidentMistakes(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error.description == "t.yml:1: \(message)")
    }

    @Test("A proxy with its password may be in a file of its own, which no message quotes")
    func proxyFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = "transfers: {proxy_file: \(file.path)}"
        func problem(_ text: String) -> String? {
            #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }.map { "\($0)" }
        }
        let place = "t.yml:1: transfers.proxy_file: \(file.path)"
        #expect(problem(text) == "\(place) cannot be read: No such file or directory")
        try "\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(problem(text) == "\(place) is empty")
        try "u:hunter2".write(to: file, atomically: true, encoding: .utf8)
        #expect(problem(text) == "\(place) has no proxy SCHEME://USER:PASSWORD@HOST:PORT")
        try "http://u:hunter2@p:3128\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(try Configuration.parse(text, file: "t.yml").transfers.session.proxy.both == "http://u:hunter2@p:3128")
        #expect(
            problem("transfers: {proxy: \"http://p:1\", proxy_file: \(file.path)}")
                == "t.yml:1: transfers: proxy and proxy_file are mutually exclusive")
        #expect(
            problem("transfers: {proxy_file: p}")
                == "t.yml:1: transfers.proxy_file: \"p\" is not an absolute path")
    }

    @Test("All mistakes are told, in the order of their lines")
    func severalMistakes() throws {
        let text = """
            tasks:
              - {name: a, url: "http://a/", every: 1m}
              - {name: a, url: "http://b/", every: 1m}
            transfers:
              max_connections: -1
            metrics: {hosts: [], x: 1}
            """
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(
            error.problems.map(\.description) == [
                "t.yml:3: tasks[1]: duplicate name \"a\"",
                "t.yml:5: transfers.max_connections: -1 is below the minimum of 1",
                "t.yml:6: metrics.x: unknown key",
            ])
    }

    @Test("A file that cannot be read is named with the reason")
    func unreadableFiles() {
        let expected = ConfigurationError(file: "/nowhere/t.yml", "cannot be read: No such file or directory")
        #expect(throws: expected) { try Configuration.load(file: "/nowhere/t.yml") }
    }
}
