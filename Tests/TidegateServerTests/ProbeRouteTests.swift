import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// A service that answers every question with the same report.
private final class FakeProbes: ProbeService {
    let hasModules: Bool
    let modules = "modules:\n  m:\n    prober: http\n"
    let history: [ProbeReport]
    private let refusal: ProbeRefusal?
    private let state = Mutex<[ProbeQuestion]>([])

    init(hasModules: Bool = true, refusal: ProbeRefusal? = nil, history: [ProbeReport] = []) {
        self.hasModules = hasModules
        self.refusal = refusal
        self.history = history
    }

    var questions: [ProbeQuestion] { self.state.withLock { $0 } }

    func probe(_ question: ProbeQuestion) async throws(ProbeRefusal) -> ProbeReport {
        self.state.withLock { $0.append(question) }
        if let refusal = self.refusal { throw refusal }
        return Self.report(1, question.target)
    }

    static func report(_ number: UInt64, _ target: String, module: String = "m") -> ProbeReport {
        var family = GaugeFamily(name: "probe_success", help: "Displays whether or not the probe was a success")
        family.set(0)
        var info = GaugeFamily(name: "probe_failure_info", help: "Why.", labels: ["reason", "party"])
        info.set(1, labels: ["a \"b\"", "mine"])
        var log = ProbeLog(module: module, target: target)
        log.add(.info, "one", at: WallTime(microseconds: 0))
        log.add(.error, "two", [("a", "b c")], at: WallTime(microseconds: 0))
        var report = ProbeReport(
            module: module, target: target, start: WallTime(microseconds: 0), duration: .seconds(1),
            failure: .init(reason: "status", party: .theirs, text: "503"), isGated: false, families: [info, family],
            log: log, configuration: "prober: http\n")
        report.number = number
        return report
    }
}

struct ProbeRouteTests {
    private static func get(
        _ path: String, of probes: FakeProbes?, fields: HTTPFields = [:]
    ) async throws -> RoutedResponse {
        var fixture = Fixture()
        fixture.probes = probes
        return try await fixture.respond("GET", path, fields: fields)
    }

    @Test("A probe is answered with its metrics and 200, whatever came of it")
    func metrics() async throws {
        let probes = FakeProbes()
        let answer = try await Self.get(
            "/probe?module=m&target=a%3A80%2F%3Fx%3D1&hostname=h", of: probes,
            fields: [try #require(HTTPField.Name("X-Prometheus-Scrape-Timeout-Seconds")): "9.5"])
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(
            answer.text == """
                # HELP probe_failure_info Why.
                # TYPE probe_failure_info gauge
                probe_failure_info{reason="a \\"b\\"",party="mine"} 1
                # HELP probe_success Displays whether or not the probe was a success
                # TYPE probe_success gauge
                probe_success 0

                """)
        #expect(
            probes.questions == [
                ProbeQuestion(module: "m", target: "a:80/?x=1", hostname: "h", scrapeTimeout: "9.5")
            ])
    }

    @Test("The page lists the latest probes with a link to each log, and nothing without modules")
    func page() async throws {
        var gated = FakeProbes.report(8, "http://u:secret@b.example/?token=1")
        gated.isGated = true
        var good = FakeProbes.report(9, "c.example")
        good.failure = nil
        let probes = FakeProbes(history: [good, gated, FakeProbes.report(7, "<a>")])
        let html = try await Self.get("/", of: probes).text
        let section = try #require(html.split(separator: "\n").first { $0.hasPrefix("<section id=\"latest\"") })
        #expect(section.contains("3 remembered, 1 failed, 1 had no path"))
        for text in [
            "<span class=\"good\">succeeded</span>", "<a href=\"/logs?id=9\">log</a>",
            "<span class=\"wait\">not probed</span>", "http://b.example/", "<span class=\"bad\">failed</span> 503",
            "&lt;a&gt;",
        ] { #expect(section.contains(text), "\(text)") }
        #expect(!section.contains("secret") && !section.contains("token"))
        #expect(try await !Self.get("/", of: FakeProbes(hasModules: false)).text.contains("id=\"probes\""))
    }

    @Test("The module is http_2xx unless the request names another")
    func standardModule() async throws {
        let probes = FakeProbes()
        _ = try await Self.get("/probe?target=a", of: probes)
        _ = try await Self.get("/probe?target=a&module=", of: probes)
        #expect(probes.questions.map(\.module) == ["http_2xx", "http_2xx"])
    }

    @Test(
        "A target may be encoded once or twice",
        arguments: [
            ("http://a.example:8/b%2520c", "http://a.example:8/b%20c"),
            ("http%3A%2F%2Fa.example%3A8%2Fb", "http://a.example:8/b"),
            ("http%253A%252F%252Fa.example%253A8%252Fb", "http://a.example:8/b"),
            ("a.example%253A8", "a.example:8"),
        ])
    func encodedTarget(_ encoded: String, _ target: String) async throws {
        let probes = FakeProbes()
        _ = try await Self.get("/probe?target=\(encoded)", of: probes)
        #expect(probes.questions.map(\.target) == [target])
    }

    @Test("With debug=true everything about the probe is printed")
    func debug() async throws {
        let answer = try await Self.get("/probe?target=a&debug=true", of: FakeProbes())
        #expect(answer.status == 200 && answer.headers[.contentType] == "text/plain; charset=utf-8")
        #expect(
            answer.text.hasPrefix(
                "Logs for the probe:\nts=1970-01-01T00:00:00.000Z module=m target=a level=info msg=one\n"
                    + "ts=1970-01-01T00:00:00.000Z module=m target=a level=error msg=two a=\"b c\"\n\n\n\n"
                    + "Metrics that would"))
        #expect(answer.text.hasSuffix("probe_success 0\n\n\n\nModule configuration:\nprober: http\n"))
    }

    @Test(
        "Refusals have blackbox_exporter's words and statuses",
        arguments: [
            (.tooMany(limit: 2), 503, "2 probes are running, and no more run at a time\n"),
            (.unknownModule("x"), 400, "Unknown module \"x\"\n"),
            (.missingTarget, 400, "Target parameter is missing\n"),
            (
                .badTimeout("y"), 500,
                "Failed to parse timeout from Prometheus header: \"y\" is not a number of seconds\n"
            ),
            (
                .hostnameConflict(module: "a", parameter: "b"), 400,
                "host header defined both in module configuration (a) and with URL-parameter 'hostname' (b)\n"
            ),
            (
                .credentials(module: "api"), 403,
                "Module \"api\" has credentials: list the hosts that may get them in probe_credentials, or send the "
                    + "request from Prometheus, with a password, or from a local program\n"
            ),
            (.invalidHostname("a\nb"), 400, "\"a\\nb\" is not a host name\n"),
        ] as [(ProbeRefusal, Int, String)])
    func refusals(_ refusal: ProbeRefusal, _ status: Int, _ text: String) async throws {
        let answer = try await Self.get("/probe?target=a", of: FakeProbes(refusal: refusal))
        #expect(answer.status == status && answer.text == text)
    }

    /// A request, and whether it may spend a module's credentials: from another host, over loopback, with a password.
    struct Claim: Sendable {
        var fields: [String: String] = [:]
        let isTrusted: [Bool]
    }

    @Test(
        "A web page cannot have credentials sent; Prometheus, a client with a password and a local program can",
        arguments: [
            Claim(isTrusted: [false, true, true]),
            Claim(fields: ["X-Prometheus-Scrape-Timeout-Seconds": "10"], isTrusted: [true, true, true]),
            Claim(fields: ["Sec-Fetch-Site": "cross-site"], isTrusted: [false, false, false]),
            Claim(fields: ["Sec-Fetch-Site": "same-site"], isTrusted: [false, false, false]),
            Claim(fields: ["Sec-Fetch-Site": "same-origin"], isTrusted: [false, false, true]),
            Claim(fields: ["Sec-Fetch-Site": "none"], isTrusted: [false, false, true]),
            Claim(fields: ["Origin": "http://evil.example"], isTrusted: [false, false, false]),
            Claim(fields: ["Origin": "null"], isTrusted: [false, false, false]),
            Claim(
                fields: ["Origin": "http://tide.example:9843", "Sec-Fetch-Site": "same-origin"],
                isTrusted: [false, false, true]),
            Claim(fields: ["Referer": "http://evil.example/"], isTrusted: [false, false, false]),
            Claim(fields: ["Accept-Language": "en"], isTrusted: [false, false, false]),
            Claim(
                fields: ["Accept-Language": "en", "X-Prometheus-Scrape-Timeout-Seconds": "1"],
                isTrusted: [false, false, false]),
        ])
    func trust(_ claim: Claim) throws {
        var head = HTTPRequest(method: .get, scheme: nil, authority: "tide.example:9843", path: "/probe")
        for (name, value) in claim.fields { head.headerFields[try #require(HTTPField.Name(name))] = value }
        let isTrusted = [(false, false), (false, true), (true, false)].map {
            ProbeRoutes.isTrusted(head, isAuthenticated: $0, isLocal: $1)
        }
        #expect(isTrusted == claim.isTrusted)
    }

    /// A client's fields, and whether its request is probed.
    struct Visit: Sendable {
        var fields: [String: String] = [:]
        let isProbed: Bool
    }

    @Test(
        "A page of another site makes no probe, whatever the module; own pages, users and other programs do",
        arguments: [
            Visit(isProbed: true), Visit(fields: ["Sec-Fetch-Site": "none"], isProbed: true),
            Visit(fields: ["Sec-Fetch-Site": "same-origin"], isProbed: true),
            Visit(fields: ["Sec-Fetch-Site": "cross-site"], isProbed: false),
            Visit(fields: ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], isProbed: false),
            Visit(fields: ["Sec-Fetch-Site": "same-site"], isProbed: false),
            Visit(fields: ["Sec-Fetch-Site": "same-origin, cross-site"], isProbed: false),
            Visit(fields: ["Origin": "http://evil.example"], isProbed: false),
            Visit(fields: ["Origin": "null"], isProbed: false),
            Visit(fields: ["Origin": "http://127.0.0.1:PORT"], isProbed: true),
            Visit(fields: ["Origin": "http://127.0.0.1:PORT.evil.example"], isProbed: false),
            Visit(fields: ["Referer": "http://evil.example/http://127.0.0.1:PORT/"], isProbed: false),
            Visit(fields: ["Referer": "http://127.0.0.1:PORT/probes?a=b"], isProbed: true),
            // A proxy may pass the request on under another name; the browser knows the page's own.
            Visit(
                fields: ["Referer": "https://monitor.example/", "Sec-Fetch-Site": "same-origin"], isProbed: true),
            // Over plain http to another host a browser names a page only by Referer, which the page may forbid.
            Visit(fields: ["Accept-Language": "en"], isProbed: false),
            Visit(fields: ["Accept-Language": "*"], isProbed: true),
            Visit(fields: ["Accept-Language": "en", "Sec-Fetch-Site": "none"], isProbed: true),
            Visit(fields: ["Accept-Language": "en", "Referer": "http://127.0.0.1:PORT/"], isProbed: true),
            Visit(fields: ["Authorization": "Basic YTpi", "Sec-Fetch-Site": "same-site"], isProbed: false),
            Visit(fields: ["X-Prometheus-Scrape-Timeout-Seconds": "10"], isProbed: true),
            Visit(
                fields: ["X-Prometheus-Scrape-Timeout-Seconds": "10", "Sec-Fetch-Site": "cross-site"], isProbed: false),
        ])
    func otherSites(_ visit: Visit) async throws {
        let probes = FakeProbes()
        var fixture = Fixture()
        fixture.probes = probes
        try await fixture.serving { port in
            let fields = visit.fields.flatMap { ["-H", "\($0): \($1.replacing("PORT", with: "\(port)"))"] }
            let answer = try await Program.expect(
                ["curl", "-s", "-w", " %{http_code}", "http://127.0.0.1:\(port)/probe?target=a"] + fields)
            #expect(answer.hasSuffix(visit.isProbed ? " 200" : " 403"), "\(answer)")
            let refusal = ["A page of another site sent this request, and may", "A browser (Accept-Language) sent"]
            #expect(visit.isProbed || refusal.contains { answer.hasPrefix($0) })
        }
        #expect(probes.questions.count == (visit.isProbed ? 1 : 0))
    }

    @Test(
        "A request that a proxy passed on is no local program's, and may not spend credentials",
        arguments: [nil, "Forwarded: for=192.0.2.1", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: ::1", "Via: 1.1 proxy"])
    func forwarded(_ field: String?) async throws {
        let probes = FakeProbes()
        var fixture = Fixture()
        fixture.probes = probes
        try await fixture.serving { port in
            try await Program.expect(
                ["curl", "-s", "http://127.0.0.1:\(port)/probe?target=a"] + (field.map { ["-H", $0] } ?? []))
        }
        #expect(probes.questions.map(\.isTrusted) == [field == nil])
    }

    @Test("/config shows the modules, and /logs an earlier probe by its number or its target")
    func configurationAndLogs() async throws {
        let history = [
            FakeProbes.report(3, "a"), FakeProbes.report(2, "a", module: "n"), FakeProbes.report(1, "b"),
        ]
        let probes = FakeProbes(history: history)
        #expect(try await Self.get("/config", of: probes).text == "modules:\n  m:\n    prober: http\n")
        for (query, status) in [
            ("id=2", 200), ("target=a", 200), ("target=a&module=n", 200), ("id=9", 404), ("target=c", 404),
            ("target=b&module=n", 404), ("id=x", 400), ("", 400), ("module=n", 400), ("id=1&target=a", 400),
        ] {
            #expect(try await Self.get("/logs?\(query)", of: probes).status == status, "\(query)")
        }
    }

    @Test(
        "Without modules there is nothing to probe, and the answer says how to get some",
        arguments: ["/probe?target=a", "/config", "/logs?id=1"])
    func withoutModules(_ path: String) async throws {
        let probes = FakeProbes(hasModules: false)
        let answer = try await Self.get(path, of: probes)
        #expect(answer.status == 404 && answer.text.hasPrefix("No modules are configured"))
        #expect(probes.questions.isEmpty)
        #expect(try await Self.get(path, of: nil).status == 404)
    }
}
