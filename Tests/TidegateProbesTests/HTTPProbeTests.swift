import HTTPTypes
import Testing
import TidegateCEL
import TidegateCore
import TidegateProbes
import TidegateTestKit

/// Probes of a server on loopback; how the answers compare with blackbox_exporter's is in BlackboxTests.
@Suite(.timeLimit(.minutes(5)))
struct HTTPProbeTests {
    @Test("Statuses that a module lists are the only ones that succeed, and 2xx without a list")
    func statuses() async throws {
        let server = try LiveServer { .respond(Int($0.path.dropFirst()) ?? 0, text: "body") }
        defer { server.stop() }
        for (valid, status, isGood) in [
            ([], 200, true), ([], 299, true), ([], 300, false), ([], 404, false), ([200, 404], 404, true),
            ([200, 404], 201, false),
        ] as [([Int], Int, Bool)] {
            let report = try await ProbeFixture(.with { $0.validStatuses = valid }).probe(server.url("/\(status)"))
            #expect(report.value("probe_success") == (isGood ? 1 : 0), "\(valid) \(status)")
            #expect(report.value("probe_http_status_code") == Double(status))
            #expect(report.value("probe_http_content_length") == 4)
            #expect(report.value("probe_http_uncompressed_body_length") == 4)
            #expect(report.failure?.reason == (isGood ? nil : "status"))
        }
    }

    @Test("A module may take every status")
    func anyStatus() async throws {
        let server = try LiveServer { _ in .respond(503, text: "busy") }
        defer { server.stop() }
        let report = try await ProbeFixture(.with { $0.acceptsAnyStatus = true }).probe(server.url())
        #expect(report.value("probe_success") == 1 && report.value("probe_http_status_code") == 503)
    }

    @Test("A report has the addresses of the connection, and how long it took to open")
    func connection() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let connection = try #require(try await ProbeFixture().probe(server.url()).connection)
        #expect(connection.local == IPAddress("127.0.0.1") && connection.remote == connection.local)
        #expect(try #require(connection.connect) > .zero)
    }

    @Test("Redirects are followed ten times, and counted")
    func redirects() async throws {
        let server = try LiveServer { request in
            let left = Int(request.path.dropFirst()) ?? 0
            return left == 0 ? .respond(text: "end") : .respond(302, ["Location: /\(left - 1)"])
        }
        defer { server.stop() }
        let good = try await ProbeFixture().probe(server.url("/10"))
        #expect(good.value("probe_success") == 1 && good.value("probe_http_redirects") == 10)
        let endless = try await ProbeFixture().probe(server.url("/99"))
        #expect(endless.value("probe_success") == 0 && endless.value("probe_http_redirects") == 11)
        #expect(endless.value("probe_http_status_code") == 302)
        let notFollowed = try await ProbeFixture(
            .with {
                $0.followsRedirects = false
                $0.validStatuses = [302]
            }
        ).probe(server.url("/1"))
        #expect(notFollowed.value("probe_success") == 1 && notFollowed.value("probe_http_redirects") == 1)
    }

    @Test("Cookies of a redirect are sent with the next request, and credentials to the first origin only")
    func secretsAcrossRedirects() async throws {
        let other = try LiveServer { _ in .respond(text: "there") }
        defer { other.stop() }
        let server = try LiveServer { [port = other.port] request in
            request.path == "/away"
                ? .respond(307, ["Location: http://other.test:\(port)/", "Set-Cookie: s=1"])
                : request.path == "/"
                    ? .respond(302, ["Location: /next", "Set-Cookie: s=1"]) : .respond(text: "here")
        }
        defer { server.stop() }
        let options = try HTTPProbeOptions.with {
            $0.authorization = .basic(user: .text("u"), password: .text("p"))
            $0.headers = [try HTTPField(line: "X-Key: k"), try HTTPField(line: "Accept: a/b")]
        }
        let fixture = ProbeFixture(options)
        _ = try await fixture.probe("http://tide.test:\(server.port)/")
        #expect(server.requests.map { $0.field("authorization") } == ["Basic dTpw", "Basic dTpw"])
        #expect(server.requests.last?.field("cookie") == "s=1")
        let report = try await fixture.probe("http://tide.test:\(server.port)/away")
        #expect(report.value("probe_success") == 1)
        let request = try #require(other.requests.first)
        #expect(
            request.field("authorization") == nil && request.field("x-key") == nil && request.field("cookie") == nil)
        #expect(request.field("accept") == "a/b" && request.field("host") == "other.test:\(other.port)")
    }

    @Test("A redirect to what must not be probed is not followed")
    func deniedRedirect() async throws {
        let server = try LiveServer { _ in .respond(302, ["Location: http://169.254.169.254/latest/"]) }
        defer { server.stop() }
        let report = try await ProbeFixture().probe(server.url())
        #expect(report.failure?.reason == "target_denied" && report.failure?.party == .mine)
        #expect(report.value("probe_success") == 0)
    }

    @Test("The host is the parameter's or the module's, and not two different ones")
    func hostname() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        _ = try await ProbeFixture().probe(server.url(), hostname: "www.example")
        #expect(server.requests.last?.field("host") == "www.example")
        #expect(server.requests.last?.field("user-agent") == "Tidegate/1.2.3")
        let fixture = ProbeFixture(
            try .with { $0.headers = [try HTTPField(line: "Host: a.example"), try HTTPField(line: "User-Agent: me")] })
        _ = try await fixture.probe(server.url())
        #expect(server.requests.last?.field("host") == "a.example")
        #expect(server.requests.last?.field("user-agent") == "me")
        await #expect(throws: ProbeRefusal.hostnameConflict(module: "a.example", parameter: "b.example")) {
            try await fixture.probe(server.url(), hostname: "b.example")
        }
    }

    @Test("Expressions are searched for in bodies and fields; a failed one is shown by its own gauge")
    func expressions() async throws {
        let server = try LiveServer { _ in .respond(text: "all is well", ) }
        defer { server.stop() }
        func probe(_ change: (inout HTTPProbeOptions) throws -> Void) async throws -> ProbeReport {
            try await ProbeFixture(try .with(change)).probe(server.url())
        }
        let well = try RegularExpression("is w(el)+")
        for (report, isGood) in [
            (try await probe { $0.failsIfBodyMatches = [well] }, false),
            (try await probe { $0.failsIfBodyDoesNotMatch = [well] }, true),
            (try await probe { $0.failsIfBodyDoesNotMatch = [well, try RegularExpression("^is")] }, false),
        ] {
            #expect(report.value("probe_success") == (isGood ? 1 : 0))
            #expect(report.value("probe_failed_due_to_regex") == (isGood ? 0 : 1))
            #expect(report.value("probe_http_uncompressed_body_length") == 11)
            #expect(report.failure?.reason == (isGood ? nil : "body"))
        }
    }

    @Test(
        "An expression about a JSON body; what is not JSON, or gives no bool, is a failure",
        arguments: [
            (#"{"status": "up"}"#, "body.status == 'up'", nil), ("{}", "!has(body.status)", nil),
            ("[1, 2]", "body[1] == 2", nil),
            (
                #"{"status": "down"}"#, "body.status == 'up'",
                "the body does not match the expression \"body.status == 'up'\""
            ),
            ("{}", "body.status == 'up'", #"the expression about the body has no value: there is no key "status""#),
            (
                #"{"status": "up"}"#, "body.status",
                "the expression about the body has no value: the result is not a bool but a value of type string"
            ),
            ("up", "true", "the body is not JSON: no value begins at byte 0"),
            ("", "true", "the body is not JSON: no value begins at byte 0"),
        ] as [(String, String, String?)])
    func json(_ body: String, _ expression: String, _ failure: String?) async throws {
        let server = try LiveServer { _ in .respond(text: body) }
        defer { server.stop() }
        let compiled = try CELExpression(expression, variable: "body")
        let report = try await ProbeFixture(.with { $0.failsIfJSONDoesNotMatch = compiled }).probe(server.url())
        #expect(report.value("probe_success") == (failure == nil ? 1 : 0))
        #expect(report.value("probe_failed_due_to_cel") == (failure == nil ? 0 : 1))
        #expect(report.value("probe_failed_due_to_regex") == 0)
        #expect(report.failure?.text == failure)
    }

    @Test("An expression that must not be true; its gauge is there only for modules that have one")
    func forbiddenJSON() async throws {
        let server = try LiveServer { _ in .respond(text: #"{"queue": 7}"#) }
        defer { server.stop() }
        for (text, isGood) in [("body.queue > 5", false), ("body.queue > 10", true), ("body.length > 5", false)] {
            let compiled = try CELExpression(text, variable: "body")
            let report = try await ProbeFixture(.with { $0.failsIfJSONMatches = compiled }).probe(server.url())
            #expect(report.value("probe_success") == (isGood ? 1 : 0))
            #expect(report.value("probe_failed_due_to_cel") == (isGood ? 0 : 1))
        }
        let without = try await ProbeFixture(.with { _ in }).probe(server.url())
        #expect(without.value("probe_failed_due_to_cel") == nil)
    }

    @Test("Conditions on fields: every value counts, the name's case does not, and a missing one is a failure")
    func fields() async throws {
        let server = try LiveServer { _ in .respond(200, ["Via: one", "via: two", "X-A: b"], text: "ok") }
        defer { server.stop() }
        for (name, pattern, allowsMissing, ifMatches, ifNot) in [
            ("VIA", "two", false, false, true), ("Via", "three", false, true, false),
            ("Gone", "x", false, false, false), ("Gone", "x", true, true, true),
        ] {
            let condition = HeaderCondition(
                name: try #require(HTTPField.Name(name)), pattern: try RegularExpression(pattern),
                allowsMissing: allowsMissing)
            let matching = try await ProbeFixture(.with { $0.failsIfHeaderMatches = [condition] }).probe(server.url())
            let notMatching = try await ProbeFixture(.with { $0.failsIfHeaderDoesNotMatch = [condition] })
                .probe(server.url())
            #expect(matching.value("probe_success") == (ifMatches ? 1 : 0), "\(name) \(pattern)")
            #expect(notMatching.value("probe_success") == (ifNot ? 1 : 0), "\(name) \(pattern)")
            #expect(matching.value("probe_failed_due_to_regex") == (ifMatches ? 0 : 1))
        }
    }

    @Test("Bodies up to the limit pass; longer ones end the probe with the limit's length")
    func limit() async throws {
        let server = try LiveServer { .respond(text: String(repeating: "a", count: Int($0.path.dropFirst()) ?? 0)) }
        defer { server.stop() }
        let fixture = ProbeFixture(.with { $0.maxBodyBytes = 128 })
        #expect(try await fixture.probe(server.url("/128")).value("probe_success") == 1)
        let report = try await fixture.probe(server.url("/129"))
        #expect(report.failure?.reason == "too_large")
        #expect(report.value("probe_http_content_length") == 129)
        #expect(report.value("probe_http_uncompressed_body_length") == 128)
    }

    /// "hello world" by gzip(1), raw deflate and brotli(1).
    private static let encoded: [String: [UInt8]] = [
        "gzip": [
            0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF,
            0x2F, 0xCA, 0x49, 0x01, 0x00, 0x85, 0x11, 0x4A, 0x0D, 0x0B, 0x00, 0x00, 0x00,
        ],
        "deflate": [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF, 0x2F, 0xCA, 0x49, 0x01, 0x00],
        "br": [0x0B, 0x05, 0x80] + Array("hello world".utf8) + [0x03],
    ]

    @Test("A body is decoded as the module says, and only then", arguments: ["gzip", "deflate", "br"])
    func codings(_ coding: String) async throws {
        let body = try #require(Self.encoded[coding])
        let server = try LiveServer { request in
            request.path == "/plain"
                ? .respond(text: "hello world") : .respond(200, ["Content-Encoding: \(coding)"], body: body)
        }
        defer { server.stop() }
        let expression = try RegularExpression("^hello world$")
        let asked = ProbeFixture(
            .with {
                $0.coding = BodyCoding(rawValue: coding)
                $0.failsIfBodyDoesNotMatch = [expression]
            })
        let decoded = try await asked.probe(server.url())
        #expect(decoded.value("probe_success") == 1, "\(decoded.failure as Any)")
        #expect(decoded.value("probe_http_content_length") == Double(body.count))
        #expect(decoded.value("probe_http_uncompressed_body_length") == 11)
        #expect(server.requests.last?.field("accept-encoding") == coding)
        let mismatch = try await asked.probe(server.url("/plain"))
        #expect(mismatch.value("probe_success") == 0 && mismatch.failure?.reason == "encoding")
        #expect(mismatch.value("probe_http_uncompressed_body_length") == 0)
        let asIs = try await ProbeFixture().probe(server.url())
        #expect(asIs.value("probe_success") == 1)
        #expect(asIs.value("probe_http_uncompressed_body_length") == Double(body.count))
        let limited = try await ProbeFixture(
            .with {
                $0.coding = BodyCoding(rawValue: coding)
                $0.maxBodyBytes = 8
            }
        ).probe(server.url())
        #expect(limited.failure?.reason == "too_large")
        #expect(limited.value("probe_http_uncompressed_body_length") == 8)
    }

    @Test("A silent server ends with the timeout, and a body without end, too", arguments: ["/silent", "/endless"])
    func silence(_ path: String) async throws {
        let server = try LiveServer { request in
            request.path == "/silent"
                ? LiveServerAnswer([.hang])
                : LiveServerAnswer([.send(LiveServerAnswer.head(200, [])), .flood(Array("x".utf8))])
        }
        defer { server.stop() }
        let report = try await ProbeFixture(timeout: .milliseconds(300)).probe(server.url(path))
        #expect(report.failure?.reason == "timed_out")
        #expect(report.value("probe_timeout_seconds") == 0.3)
        #expect(report.value("probe_http_status_code") == (path == "/silent" ? 0 : 200))
    }

    @Test("Targets that are none fail without a request", arguments: ["http://", "http://a b/", "http://x:99999/"])
    func malformed(_ target: String) async throws {
        let report = try await ProbeFixture().probe(target)
        #expect(
            report.failure?.reason == "invalid_target" && report.failure?.party == .mine, "\(report.failure as Any)")
        #expect(report.value("probe_success") == 0)
    }

    @Test("A scheme may be left out, and its case does not matter", arguments: ["", "http://", "HTTP://", "HtTp://"])
    func schemes(_ scheme: String) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        #expect(try await ProbeFixture().probe("\(scheme)127.0.0.1:\(server.port)").value("probe_success") == 1)
    }

    @Test("A body is sent from the module or from a file, which is read every time")
    func bodies() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        _ = try await ProbeFixture(
            .with {
                $0.method = "POST"
                $0.body = .text("ping")
            }
        ).probe(server.url())
        #expect(server.requests.last?.method == "POST" && server.requests.last?.body == Array("ping".utf8))
        let report = try await ProbeFixture(.with { $0.body = .file("/nonexistent/body") }).probe(server.url())
        #expect(report.failure?.text == "/nonexistent/body cannot be read" && server.requests.count == 1)
    }
}
