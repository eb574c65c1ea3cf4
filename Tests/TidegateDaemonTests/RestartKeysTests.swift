import Testing
import Tidegate

@testable import TidegateDaemon

/// What a reload cannot apply is named by its key.
@Suite struct RestartKeysTests {
    private static let rows: [(String, [String])] = [
        ("tasks: [{name: a, url: \"http://a/\", every: 1m}]", []),
        ("transfers: {retry: {attempts: 9}, gate: {patience: 1m}}", []),
        (
            "transfers: {max_connections: 9, max_filesize: 2M, proxy: \"http://p:1\"}",
            ["transfers.max_connections", "transfers.max_filesize", "transfers.proxy"]
        ),
        ("transfers: {no_proxy: [a]}", ["transfers.no_proxy"]),
        (
            "transfers: {max_connections_per_host: 9, tracing: true}",
            ["transfers.max_connections_per_host", "transfers.tracing"]
        ),
        ("transfers: {tls: {ca_file: /a}, budget: {tokens: 1}}", ["transfers.tls", "transfers.budget"]),
        ("reachability: {metered: {interfaces: [wwan0]}}", ["reachability.metered"]),
        ("observation: {exclude: {ports: [22]}}", ["observation"]),
        ("remote_write: {labels: {a: b}}", ["remote_write"]),
        ("modules: {a: {prober: http}}\nprobe_targets: {allow: [a]}\nprobe_credentials: {a: [b]}", []),
        ("modules: {a: {prober: http}}\nprobes: [{name: a, module: a, target: b, every: 1m}]", []),
        ("reachability: {targets: [{name: a, host: a}], uid: 5}", ["reachability.targets", "reachability.uid"]),
        (
            "reachability: {internet_check: {enabled: true, urls: [\"http://a/\"]}, sentinels: {ipv4: [8.8.8.8]}}",
            ["reachability.sentinels", "reachability.internet_check"]
        ),
        ("reachability: {interfaces: {exclude: [x]}, mark: 1}", ["reachability.interfaces", "reachability.mark"]),
        (
            "journal: {keep_completed: 2d}\nevents: {history: 9}\nmetrics: {max_hosts: 9}",
            ["journal", "events", "metrics"]
        ),
        ("control: {directories: [/srv/in]}", ["control"]),
        ("incidents: {on_incident: [/bin/true]}", ["incidents"]), ("labels: {site: berlin}", ["labels"]),
        ("quality: {active: false}", ["quality"]), ("diagnosis: {public: off}", ["diagnosis"]),
        ("uplinks: {standby: false}", ["uplinks"]),
        ("observation: {connections: false}", ["observation"]),
        (
            "transfers: {redirects: free, allow_private_redirects: true}",
            ["transfers.redirects", "transfers.allow_private_redirects"]
        ),
        ("probe_body_budget: 8MiB", ["probe_body_budget"]),
        ("remote_write: {url: \"http://a/\"}", ["remote_write"]),
    ]

    @Test("A changed key that needs a restart is named; one that is applied is not", arguments: Self.rows)
    func keys(_ text: String, _ keys: [String]) throws {
        let next = try Configuration.parse(text, file: "t.yml")
        #expect(next.keysThatNeedRestart(from: Configuration()) == keys)
        #expect(next.keysThatNeedRestart(from: next).isEmpty)
    }

    @Test("A key that a reload does not apply has a row above")
    func complete() {
        let keys = ConfigurationSchema.root.flatMap { field in
            switch field.key {
            case "reachability": ConfigurationSchema.reachability.map { "reachability.\($0.key)" }
            case "transfers": ConfigurationSchema.transfers.map { "transfers.\($0.key)" }
            default: [field.key]
            }
        }
        let applied: Set = [
            "transfers.retry", "transfers.gate", "tasks", "modules", "probe_targets", "probe_credentials", "probes",
            // Another proxy is a change of transfers.proxy, wherever it stands.
            "transfers.proxy_file",
        ]
        #expect(Set(keys).subtracting(applied) == Set(Self.rows.flatMap(\.1)))
    }
}
