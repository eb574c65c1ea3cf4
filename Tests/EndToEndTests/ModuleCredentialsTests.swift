import Foundation
import HTTPTypes
import Testing
import TidegateTestKit

/// Who can have a sidecar send the credentials of its modules: a real Prometheus can, and a page in a real browser cannot.
@Suite(
    .enabled(if: Prometheus.isInstalled && Browser.isInstalled, "needs prometheus, chromium and chromium-driver"),
    .timeLimit(.minutes(5)))
struct ModuleCredentialsTests {
    private let bench: EndToEndFixture
    private let target: LiveServer

    init() throws {
        self.bench = try EndToEndFixture()
        self.target = try LiveServer { _ in .respond(text: "ok") }
    }

    // An unchanged file of blackbox_exporter.
    private static let modules = """
        modules:
          http_basic: {prober: http, http: {basic_auth: {username: u, password: hunter2}}}
          http_post: {prober: http, http: {method: POST}}
        """

    private func ask(_ port: Int, _ query: String, _ arguments: String...) async throws -> String {
        try await Program.run(
            ["curl", "-s", "-w", " %{http_code}", "http://127.0.0.1:\(port)/probe?\(query)"] + arguments
        ).output
    }

    private var authorized: Int { self.target.requests.count { $0.field("authorization") == "Basic dTpodW50ZXIy" } }

    @Test("Prometheus probes with a migrated file as before; a page in a browser gets nothing sent")
    func prometheusAndBrowser() async throws {
        defer { self.target.stop() }
        let port = try FreePort.find()
        let serve = try await self.bench.startDaemon(Self.modules, port: port)
        let page = try LiveServer { [target = self.target] _ in
            .respond(
                200, ["Content-Type: text/html", "Referrer-Policy: no-referrer"],
                text: ["http_basic", "http_post"].map {
                    "<img src='http://127.0.0.1:\(port)/probe?module=\($0)&target=\(target.url("/page"))'>"
                }.joined())
        }
        defer { page.stop() }
        let browser = try await Browser.open()
        try await browser.go(page.url())
        let refused = "tidegate_http_requests_total{handler=\"probe\",code=\"403\"} 2"
        let isRefused = try await eventually { try await serve.get("/metrics").contains(refused) }
        await browser.close()
        #expect(isRefused && self.target.requests.isEmpty)

        let job = """
            {job_name: blackbox, metrics_path: /probe, params: {module: [http_basic]},
             static_configs: [{targets: ["\(self.target.url("/scraped"))"]}], relabel_configs: [
              {source_labels: [__address__], target_label: __param_target},
              {source_labels: [__param_target], target_label: instance},
              {target_label: __address__, replacement: "127.0.0.1:\(port)"}]}
            """
        let prometheus = try await Prometheus(scraping: port, jobs: [job])
        defer { prometheus.stop() }
        let isUp = try await eventually { try await prometheus.query("probe_success").first?.value == 1 }
        #expect(isUp && self.authorized > 0 && self.authorized == self.target.requests.count)

        let before = self.authorized
        let query = "module=http_basic&target=\(self.target.url("/curl"))"
        #expect(try await self.ask(port, query).hasSuffix(" 200"))
        let refusal = try await self.ask(port, query, "-H", "Origin: http://evil.example")
        #expect(refusal.hasPrefix("A page of another site sent this request, ") && refusal.hasSuffix(" 403"))
        #expect(self.target.requests.count { $0.path == "/curl" } == 1 && self.authorized > before)
    }

    @Test("A probe cannot reload the configuration, nor bring credentials to the sidecar itself")
    func own() async throws {
        defer { self.target.stop() }
        let port = try FreePort.find()
        let serve = try await self.bench.startDaemon(Self.modules, port: port)
        for (module, path) in [("http_post", "/-/reload"), ("http_basic", "/metrics")] {
            let answer = try await self.ask(port, "module=\(module)&target=http://localhost:\(port)\(path)")
            #expect(answer.contains("probe_failure_info{reason=\"target_denied\",party=\"mine\"} 1"))
        }
        #expect(!serve.log.contains("configuration reloaded"))
    }

    @Test("A start with credentials for every client warns once, and not once each module or client is named")
    func warning() async throws {
        defer { self.target.stop() }
        let (port, other) = (try FreePort.find(), try FreePort.find())
        let open = ["--web.listen-address", "0.0.0.0:\(other)"]
        let warning = "every client of 0.0.0.0:\(other) can have the credentials of http_basic sent to any host"
        let serve = try await self.bench.startDaemon(Self.modules, port: port, flags: open)
        #expect(serve.log.split(separator: "\n").count { $0.contains(warning) } == 1)
        await serve.stop()
        let named = Self.modules + "\nprobe_credentials: {http_basic: [\"*.example.com\"]}\n"
        let quiet = try await self.bench.startDaemon(named, port: port, flags: open)
        #expect(!quiet.log.contains("can have the credentials"))
    }
}
