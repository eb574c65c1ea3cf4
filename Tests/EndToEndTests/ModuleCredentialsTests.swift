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
    private func start(_ flags: [String] = [], port: Int) async throws -> Program {
        try self.bench.write(
            """
            modules:
              http_basic: {prober: http, http: {basic_auth: {username: u, password: hunter2}}}
              http_post: {prober: http, http: {method: POST}}
            """, to: "blackbox.yml")
        let serve = try self.bench.start(
            [
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", self.bench.path("blackbox.yml"),
                "--web.listen-address", "127.0.0.1:\(port)", "--state.dir", self.bench.path("state"),
                "--control.socket", self.bench.path("control.sock"),
            ] + flags)
        try await Program.answers("http://127.0.0.1:\(port)/-/ready")
        return serve
    }

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
        let serve = try await self.start(port: port)
        let page = try LiveServer { [target = self.target] _ in
            .respond(
                200, ["Content-Type: text/html", "Referrer-Policy: no-referrer"],
                text: "<img src='http://127.0.0.1:\(port)/probe?module=http_basic&target=\(target.url("/page"))'>")
        }
        defer { page.stop() }
        let browser = try await Browser.open()
        try await browser.go(page.url())
        let refused = "tidegate_http_requests_total{handler=\"probe\",code=\"403\"} 1"
        let isRefused = try await eventually {
            try await Program.run(["curl", "-s", "http://127.0.0.1:\(port)/metrics"]).output.contains(refused)
        }
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
        #expect(refusal.hasPrefix("Module \"http_basic\" has credentials: ") && refusal.hasSuffix(" 403"))
        #expect(self.target.requests.count { $0.path == "/curl" } == 1 && self.authorized > before)
        serve.signal(SIGTERM)
        await self.bench.tidyUp()
    }

    @Test("A probe cannot reload the configuration, nor bring credentials to the sidecar itself")
    func own() async throws {
        defer { self.target.stop() }
        let port = try FreePort.find()
        let serve = try await self.start(port: port)
        for (module, path) in [("http_post", "/-/reload"), ("http_basic", "/metrics")] {
            let answer = try await self.ask(port, "module=\(module)&target=http://localhost:\(port)\(path)")
            #expect(answer.contains("probe_failure_info{reason=\"target_denied\",party=\"mine\"} 1"))
        }
        #expect(!serve.errorsSoFar.contains("configuration reloaded"))
        await self.bench.tidyUp()
    }

    @Test("A start with credentials for every client warns once, and not once each module or client is named")
    func warning() async throws {
        defer { self.target.stop() }
        let (port, other) = (try FreePort.find(), try FreePort.find())
        let open = ["--web.listen-address", "0.0.0.0:\(other)"]
        let warning = "every client of 0.0.0.0:\(other) can have the credentials of http_basic sent to any host"
        let serve = try await self.start(open, port: port)
        #expect(serve.errorsSoFar.split(separator: "\n").count { $0.contains(warning) } == 1)
        serve.signal(SIGTERM)
        _ = await serve.finish()
        let named = try self.bench.read("blackbox.yml") + "\nprobe_credentials: {http_basic: [\"*.example.com\"]}\n"
        try self.bench.write(named, to: "blackbox.yml")
        let quiet = try self.bench.start(
            [
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", self.bench.path("blackbox.yml"),
                "--web.listen-address", "127.0.0.1:\(port)", "--state.dir", self.bench.path("state"),
                "--control.socket", self.bench.path("control.sock"),
            ] + open)
        try await Program.answers("http://127.0.0.1:\(port)/-/ready")
        #expect(!quiet.errorsSoFar.contains("can have the credentials"))
        await self.bench.tidyUp()
    }
}
