import Testing
import Tidegate
import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon

/// `probes`: targets that the sidecar probes by itself.
@Suite struct ScheduledProbeConfigurationTests {
    private static let modules = "modules: {http_2xx: {prober: http}}\n"

    @Test("Every key has its place, also with the modules behind them")
    func keys() throws {
        let file = """
            probes:
              - {name: api, module: http_2xx, target: "https://api.example/health", every: 15s}
              - {name: www, module: http_2xx, target: www.example, every: 1m, jitter: 0%}

            """
        for text in [file + Self.modules, Self.modules + file] {
            #expect(
                try Configuration.parse(text, file: "p.yml").scheduledProbes == [
                    ScheduledProbe(
                        name: "api", module: "http_2xx", target: "https://api.example/health", every: .seconds(15)),
                    ScheduledProbe(
                        name: "www", module: "http_2xx", target: "www.example", every: .seconds(60), jitter: 0),
                ])
        }
    }

    @Test(
        "A mistake is one sentence with file, line and key",
        arguments: [
            ("name: a, module: tcp, target: b, every: 1m", "probes[0].module: \"modules\" has no module \"tcp\""),
            ("name: a, module: \"\", target: b, every: 1m", "probes[0].module: the module is empty"),
            ("name: a, module: http_2xx, target: \" \", every: 1m", "probes[0].target: the target is empty"),
            ("name: a, module: http_2xx, target: b, every: 10ms", "probes[0].every: 10ms is below the minimum of 1s"),
            ("name: a, module: http_2xx, target: b, every: inf", "probes[0].every: must be finite"),
            ("name: a, module: http_2xx, target: b", "probes[0]: missing key \"every\""),
            (
                "name: a b, module: http_2xx, target: b, every: 1m",
                "probes[0].name: \"a b\" is not a name (1 to 64 letters, digits, dots, hyphens and underscores)"
            ),
            ("name: a, module: http_2xx, target: b, every: 1m, times: 3", "probes[0].times: unknown key"),
        ])
    func mistakes(_ entry: String, _ sentence: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("\(Self.modules)probes:\n  - {\(entry)}\n", file: "p.yml")
        }
        #expect(error.description == "p.yml:3: \(sentence)")
    }

    @Test("Two probes of one name are refused")
    func duplicates() throws {
        let entry = "  - {name: a, module: http_2xx, target: b, every: 1m}\n"
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("\(Self.modules)probes:\n\(entry)\(entry)", file: "p.yml")
        }
        #expect(error.description == "p.yml:4: probes[1]: duplicate name \"a\"")
    }
}
