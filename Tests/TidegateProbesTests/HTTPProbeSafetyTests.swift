import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit
import TidegateSession

/// What servers and files cannot make a probe do.
@Suite(.timeLimit(.minutes(5)))
struct HTTPProbeSafetyTests {
    @Test("A target that must not be probed is not asked for behind a proxy, either")
    func proxy() async throws {
        let proxy = try LiveServer { _ in .respond(text: "secrets") }
        defer { proxy.stop() }
        let fixture = ProbeFixture(
            .with {
                $0.proxy = ProxyPolicy("http://127.0.0.1:\(proxy.port)")
                $0.skipsResolveWithProxy = true
            })
        let report = try await fixture.probe("http://169.254.169.254/latest/")
        #expect(report.failure?.reason == "target_denied" && proxy.requests.isEmpty)
        let proxied = try await fixture.probe("http://198.51.100.1/")
        #expect(proxied.value("probe_success") == 1)
        #expect(proxied.phases == ["connect", "tls", "processing", "transfer"])
        #expect(proxy.requests.map(\.path) == ["http://198.51.100.1/"])
    }

    @Test(
        "A public server leads a probe to a private address only where the configuration allows it",
        arguments: [("127.0.0.1", "local"), ("localhost", "local"), ("10.0.0.1", "private"), ("[fd00::1]", "private")])
    func privateRedirects(_ host: String, _ kind: String) async throws {
        let proxy = try LiveServer { request in
            request.path.hasPrefix("http://198.51.100.1") ? .respond(302, ["Location: http://\(host)/x"]) : .respond()
        }
        defer { proxy.stop() }
        let options = HTTPProbeOptions.with {
            $0.proxy = ProxyPolicy("http://127.0.0.1:\(proxy.port)")
            $0.skipsResolveWithProxy = true
        }
        let report = try await ProbeFixture(options).probe("http://198.51.100.1/")
        #expect(report.failure?.reason == "target_denied")
        #expect(
            report.failure?.text
                == """
                the server redirects to http://\(host)/x, a \(kind) address; probe_targets.allow_private_redirects allows it
                """)
        #expect(proxy.requests.count == 1)
        var policy = ProbeTargetPolicy()
        policy.allowsPrivateRedirects = true
        let allowed = try await ProbeFixture(options, targets: policy).probe("http://198.51.100.1/")
        #expect(allowed.value("probe_success") == 1)
    }

    @Test("The body of a redirect may be of any length and encoding")
    func bodyOfRedirect() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/long": .respond(302, ["Location: /end"], text: String(repeating: "a", count: 1000))
            case "/endless":
                LiveServerAnswer([.send(LiveServerAnswer.head(302, ["Location: /end"])), .flood(Array("x".utf8))])
            default: .respond(200, request.path == "/end" ? ["Content-Encoding: gzip"] : [], body: Self.compressed)
            }
        }
        defer { server.stop() }
        let fixture = ProbeFixture(
            .with {
                $0.maxBodyBytes = 128
                $0.coding = .gzip
            })
        for path in ["/long", "/endless"] {
            let report = try await fixture.probe(server.url(path))
            #expect(report.value("probe_success") == 1, "\(path): \(report.failure as Any)")
            #expect(report.value("probe_http_uncompressed_body_length") == 11)
        }
    }

    @Test("Fields without end do not last as long as a probe may")
    func endlessFields() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(Array("HTTP/1.1 200 OK\r\n".utf8)), .flood(Array("X-A: b\r\n".utf8))])
        }
        defer { server.stop() }
        let fields = try await ProbeFixture(timeout: .seconds(3600)).probe(server.url())
        #expect(fields.failure?.reason == "protocol_error" && fields.failure?.party == .theirs)
    }

    @Test("A file that never ends is not read")
    func pipe() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("pipe-\(UUID().uuidString)").path
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        for (file, text) in [(path, "\(path) is not a regular file"), ("/dev/zero", "/dev/zero is not a regular file")]
        {
            let report = try await ProbeFixture(.with { $0.body = .file(file) }).probe(server.url())
            #expect(report.failure?.reason == "file_error" && report.failure?.text == text)
        }
    }

    @Test("No more than so many probes run at a time")
    func concurrency() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(latch)]).then(.send(Array("HTTP/1.0 200 OK\r\n\r\n".utf8)), .close)
        }
        defer { server.stop() }
        let fixture = ProbeFixture(maxConcurrent: 2)
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 { group.addTask { try await fixture.probe(server.url()).value("probe_success") } }
            while server.requests.count < 2 { await Task.yield() }
            await #expect(throws: ProbeRefusal.tooMany(limit: 2)) { try await fixture.probe(server.url()) }
            latch.open()
            for try await success in group { #expect(success == 1) }
        }
        #expect(try await fixture.probe(server.url()).value("probe_success") == 1)
    }

    // "hello world" by gzip(1).
    private static let compressed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF,
        0x2F, 0xCA, 0x49, 0x01, 0x00, 0x85, 0x11, 0x4A, 0x0D, 0x0B, 0x00, 0x00, 0x00,
    ]
}
