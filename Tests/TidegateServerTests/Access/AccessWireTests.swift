internal import HTTPTypes
import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// Users, headers and rates on the wire.
@Suite(.serialized) struct AccessWireTests {
    private static let paths = [
        "/", "/metrics", "/api/v1/status", "/api/v1/tasks", "/api/v1/events", "/-/healthy", "/-/ready", "/nothing",
    ]

    private static func policy() -> AccessPolicy {
        var policy = AccessPolicy()
        policy.users = AccessPolicyTests.users(["ann": AccessPolicyTests.secret])
        return policy
    }

    private func curl(_ port: Int, _ path: String, _ options: String...) async throws -> String {
        let arguments = ["curl", "-si", "--max-time", "30"] + options + ["http://127.0.0.1:\(port)\(path)"]
        return try await Program.run(arguments).output
    }

    @Test("Every path needs the password, the health checks included")
    func everyPath() async throws {
        try await Fixture().serving(try ScriptedAccessPolicy(Self.policy())) { port in
            for path in Self.paths {
                let response = try await RawConnection.ask(port: port, path)
                #expect(response.status == 401, "\(path)")
                #expect(response.fields["www-authenticate"] == "Basic realm=\"tidegate\", charset=\"UTF-8\"")
                #expect(!response.body.contains("idegate is"))
            }
            for path in Self.paths where path != "/api/v1/events" {
                let status = path == "/nothing" ? "404" : "200"
                let response = try await self.curl(port, path, "-u", "ann:secret")
                #expect(response.hasPrefix("HTTP/1.1 \(status)"), "\(path) \(response)")
            }
            #expect(try await self.curl(port, "/metrics", "-u", "ann:wrong").hasPrefix("HTTP/1.1 401"))
            #expect(try await self.curl(port, "/metrics", "-u", "eve:secret").hasPrefix("HTTP/1.1 401"))
            #expect(try await self.curl(port, "/metrics", "-I").hasPrefix("HTTP/1.1 401"))
            #expect(try await self.curl(port, "/metrics", "-X", "POST").hasPrefix("HTTP/1.1 401"))
            let metrics = try await self.curl(port, "/metrics", "-u", "ann:secret")
            #expect(metrics.contains("tidegate_http_requests_total{handler=\"metrics\",code=\"401\"} 5\n"))
        }
    }

    @Test("A connection stays open after a denied request")
    func sameConnection() async throws {
        try await Fixture().serving(try ScriptedAccessPolicy(Self.policy())) { port in
            let connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            for field in ["", "Authorization: Basic YW5uOnNlY3JldA==\r\n", ""] {
                try connection.send("GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n")
                #expect(await connection.response().status == (field.isEmpty ? 401 : 200))
            }
        }
    }

    @Test("Configured headers are on every response and replace the built-in ones")
    func headers() async throws {
        var policy = Self.policy()
        let headers = [
            ("Content-Security-Policy", "default-src 'self'"), ("X-Frame-Options", "sameorigin"),
            ("X-Content-Type-Options", "nosniff"), ("X-XSS-Protection", "1; mode=block"),
            ("Strict-Transport-Security", "max-age=31536000"),
        ]
        policy.headers = try headers.map { try HTTPField($0, $1) }
        let source = try ScriptedAccessPolicy(policy)
        try await Fixture().serving(source) { port in
            for (path, options) in [("/", ["-u", "ann:secret"]), ("/metrics", []), ("/x", ["-u", "ann:secret"])] {
                let arguments = ["curl", "-si", "--max-time", "30"] + options + ["http://127.0.0.1:\(port)\(path)"]
                let head = try await Program.run(arguments).output.components(separatedBy: "\r\n\r\n")[0].lowercased()
                for (name, value) in headers {
                    let lines = head.components(separatedBy: "\r\n").filter { $0.hasPrefix(name.lowercased()) }
                    #expect(lines == ["\(name.lowercased()): \(value)"], "\(path)")
                }
                #expect(head.contains("cache-control: no-store"))
            }
            policy.headers = []
            try source.use(policy)
            let head = try await self.curl(port, "/metrics", "-u", "ann:secret").lowercased()
            #expect(!head.contains("x-xss-protection") && head.contains("x-frame-options: deny"))
        }
    }

    @Test("A client above the rate gets the time to wait")
    func rate() async throws {
        var policy = AccessPolicy()
        policy.rate = RateLimit(interval: .seconds(60), burst: 2)
        let fixture = Fixture()
        try await fixture.serving(try ScriptedAccessPolicy(policy)) { port in
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
            #expect(try await RawConnection.ask(port: port, "/metrics").status == 200)
            let refused = try await RawConnection.ask(port: port, "/-/healthy")
            #expect(refused.status == 429 && refused.fields["retry-after"] == "60")
            fixture.time.advance(by: .seconds(60))
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
        }
    }

    @Test("A burst of 0 refuses every request")
    func noBurst() async throws {
        var policy = AccessPolicy()
        policy.rate = RateLimit(interval: .seconds(60), burst: 0)
        let fixture = Fixture()
        try await fixture.serving(try ScriptedAccessPolicy(policy)) { port in
            for _ in 0..<2 {
                let refused = try await RawConnection.ask(port: port, "/-/healthy")
                #expect(refused.status == 429 && refused.fields["retry-after"] == "60")
                fixture.time.advance(by: .seconds(120))
            }
        }
    }

    @Test("A verified user is answered while many clients guess passwords")
    func guesses() async throws {
        let source = try ScriptedAccessPolicy(Self.policy())
        try await Fixture().serving(source) { port in
            #expect(try await self.curl(port, "/-/healthy", "-u", "ann:secret").hasPrefix("HTTP/1.1 200"))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<100 {
                    let field = "Authorization: Basic \(Data("ann:\(number)".utf8).base64EncodedString())\r\n"
                    group.addTask { try await RawConnection.ask(port: port, "/metrics", fields: field).status }
                }
                #expect(try await self.curl(port, "/-/healthy", "-u", "ann:secret").hasPrefix("HTTP/1.1 200"))
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(statuses.isSubset(of: [401, 503]) && statuses.contains(401))
        }
    }

    @Test(
        "Prometheus scrapes over TLS with a password and a certificate, and goes on when all of them are changed",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus"), "prometheus is not installed"),
        .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func prometheus() async throws {
        let authority = try await TestAuthority()
        let guest = try await authority.sign(["prometheus.example"])
        func policy() async throws -> AccessPolicy {
            var policy = try AccessPolicy.encrypted(try await authority.sign(["localhost"])) { tls in
                tls.clientCertificate = .requiredAndVerified
                tls.allowedClientNames = ["prometheus.example"]
                tls.clientAuthorities = try String(contentsOfFile: authority.certificate, encoding: .utf8)
            }
            policy.users = Self.policy().users
            return policy
        }
        let source = try ScriptedAccessPolicy(try await policy())
        try await Fixture().serving(source) { port in
            func job(_ name: String, _ password: String) -> String {
                "{job_name: \(name), scheme: https, basic_auth: {username: ann, password: \(password)}, "
                    + "tls_config: {ca_file: \(authority.certificate), cert_file: \(guest.certificate), "
                    + "key_file: \(guest.key)}, static_configs: [{targets: [\"localhost:\(port)\"]}]}"
            }
            let prometheus = try await Prometheus(
                scraping: port, jobs: [job("right", "secret"), job("wrong", "guess")])
            defer { prometheus.stop() }
            func count(_ job: String) async throws -> Double {
                try await prometheus.query("sum_over_time(up{job=\"\(job)\"}[10m])").first?.value ?? 0
            }
            let isScraped = try await eventually { try await count("right") >= 2 }
            #expect(isScraped)
            try source.use(try await policy())
            let before = try await count("right")
            let goesOn = try await eventually { try await count("right") >= before + 3 }
            #expect(goesOn)
            #expect(try await count("wrong") == 0)
            #expect(try await prometheus.query("tidegate_build_info{job=\"right\"}").count == 1)
        }
    }
}
