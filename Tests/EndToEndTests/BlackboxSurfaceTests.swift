import Foundation
import Testing
import TidegateTestKit

/// What both programs answer to requests that are no probes, or no good ones.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"), .timeLimit(.minutes(5))
)
struct BlackboxSurfaceTests {
    private static let requests: [(what: String, arguments: [String], status: Int)] = [
        ("an unknown module", ["/probe?module=x&target=127.0.0.1"], 400),
        ("no target", ["/probe?module=http_2xx"], 400),
        ("an empty target", ["/probe?module=http_2xx&target="], 400),
        (
            "a header that is no number",
            ["/probe?module=http_2xx&target=127.0.0.1:1", "-H", "X-Prometheus-Scrape-Timeout-Seconds: x"], 500
        ),
        ("two hosts", ["/probe?module=host&target=127.0.0.1:1&hostname=b.example"], 400),
        ("a probe that fails", ["/probe?module=http_2xx&target=127.0.0.1:1"], 200),
        ("a target that is none", ["/probe?module=http_2xx&target=invalid://x"], 200),
        ("an unknown probe's log", ["/logs?id=4711"], 404),
        ("health", ["/-/healthy"], 200), ("the modules", ["/config"], 200),
        ("a reload", ["/-/reload", "-X", "POST"], 200), ("a reload that nobody posts", ["/-/reload"], 405),
    ]

    @Test("Both answer with the same status, and refusals with the same words")
    func statuses() async throws {
        let comparison = try await BlackboxComparison(
            """
            modules:
              http_2xx: {prober: http, timeout: 5s}
              host: {prober: http, http: {headers: {Host: a.example}}}
            """)
        defer { comparison.stop() }
        for (what, arguments, status) in Self.requests {
            let (older, newer) = try await comparison.answers(arguments[0], Array(arguments.dropFirst()))
            #expect(older.status == status && newer.status == status, "\(what): \(older) \(newer)")
            // The reason why a text is no number is Go's.
            #expect(status != 400 || older.text == newer.text, "\(what)")
        }
    }

    @Test("A file that cannot be reloaded is the same failure of both, and the former modules stay")
    func badReload() async throws {
        let comparison = try await BlackboxComparison("modules: {http_2xx: {prober: http}}\n")
        defer { comparison.stop() }
        try comparison.write("modules: {http_2xx: {prober: http, htp: {}}}\n")
        let (older, newer) = try await comparison.answers("/-/reload", ["-X", "POST"])
        #expect(older.status == 500 && newer.status == 500)
        for text in [older.text, newer.text] { #expect(text.hasPrefix("failed to reload config: "), "\(text)") }
        let (known, stillKnown) = try await comparison.answers("/probe?module=http_2xx&target=127.0.0.1:1", [])
        #expect(known.status == 200 && stillKnown.status == 200)
    }
}
