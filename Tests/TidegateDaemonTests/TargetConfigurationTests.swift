import Testing
import Tidegate

@testable import TidegateDaemon

/// The configured targets, and how they are checked.
@Suite struct TargetConfigurationTests {
    @Test("What a target is says how it is checked, unless the file does")
    func targetChecks() throws {
        let file = """
            reachability:
              targets:
                - {name: a, host: a.example, port: 443}
                - {name: b, host: b.example}
                - {name: c, url: "https://c.example/health"}
                - {name: d, host: d.example, port: 5432, check: tls, interval: 1m, timeout: 500ms}
                - {name: e, host: e.example, port: 80, check: none}
                - {name: f, url: "https://f.example:8443/", check: tls}
            """
        let configuration = try Configuration.parse(file, file: "t.yml").monitorConfiguration(version: "1")
        let reachability = configuration.reachability
        #expect(
            reachability.targets.map(\.description).dropFirst(2) == [
                "c.example:443", "d.example:5432", "e.example:80", "f.example:8443",
            ])
        let checks = reachability.targets.compactMap { reachability.targetChecks[$0] }
        #expect(checks.map(\.kind) == [.tcp, .none, .http, .tls, .none, .tls])
        #expect(checks.map(\.interval) == [15, 15, 15, 60, 15, 15].map { .seconds($0) })
        #expect(checks.map(\.timeout) == [5000, 5000, 5000, 500, 5000, 5000].map { .milliseconds($0) })
        #expect(checks[2] == (try TargetCheck(url: "https://c.example/health")))
    }

    @Test(
        "A mistake is reported by line and key",
        arguments: [
            (
                "reachability: {targets: [{name: a}]}",
                "t.yml:1: reachability.targets[0]: missing key \"host\" or \"url\""
            ),
            (
                "reachability: {targets: [{name: a, host: a, url: \"http://a/\"}]}",
                "t.yml:1: reachability.targets[0]: \"url\" and \"host\" are mutually exclusive"
            ),
            (
                "reachability: {targets: [{name: a, host: a, check: tcp}]}",
                "t.yml:1: reachability.targets[0]: \"check\" requires \"port\""
            ),
            (
                "reachability: {targets: [{name: a, host: a, check: ping}]}",
                "t.yml:1: reachability.targets[0].check: \"ping\" is not one of none, tcp, tls, http"
            ),
            (
                "reachability: {targets: [{name: a, host: a, port: 80, interval: 10ms}]}",
                "t.yml:1: reachability.targets[0].interval: 10ms is below the minimum of 1s"
            ),
            (
                "reachability: {targets: [{name: a, host: a, port: 80}, {name: b, url: \"http://a/\"}]}",
                "t.yml:1: reachability.targets[1]: duplicate target \"a:80\""
            ),
            (
                "reachability: {targets: [{name: a, host: ü.example}, {name: b, host: xn--tda.example}]}",
                "t.yml:1: reachability.targets[1]: duplicate target \"xn--tda.example\""
            ),
        ] as [(String, String)])
    func mistakes(_ text: String, _ message: String) {
        do throws(ConfigurationError) {
            _ = try Configuration.parse(text, file: "t.yml")
            Issue.record("this is not refused: \(text)")
        } catch {
            #expect(error.description == message)
        }
    }
}
