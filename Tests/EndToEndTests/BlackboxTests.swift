import Foundation
import HTTPTypes
import Testing
import TidegateTestKit

/// The same probes by blackbox_exporter and by tidegate, of the same server and by the same modules: every series of the
/// older program has to be there, with an equal value.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"), .timeLimit(.minutes(5))
)
struct BlackboxTests {
    private static let modules = """
        modules:
          http_2xx: {prober: http, timeout: 5s}
          http_404: {prober: http, http: {valid_status_codes: [404]}}
          body: {prober: http, http: {fail_if_body_not_matches_regexp: ["(?i)HELLO"]}}
          no_body: {prober: http, http: {fail_if_body_matches_regexp: ["(?i)HELLO"]}}
          header: {prober: http, http: {fail_if_header_not_matches: [{header: x-a, regexp: "^b$"}]}}
          no_header: {prober: http, http: {fail_if_header_matches: [{header: X-A, regexp: "^b$"}]}}
          missing_header: {prober: http, http: {fail_if_header_matches: [{header: X-Gone, regexp: "b"}]}}
          allowed_header: {prober: http, http: {fail_if_header_matches: [{header: X-Gone, regexp: b, allow_missing: true}]}}
          no_redirects: {prober: http, http: {follow_redirects: false, valid_status_codes: [302]}}
          cut: {prober: http, http: {fail_if_body_matches_regexp: [gone]}}
          cut_header: {prober: http, http: {fail_if_header_matches: [{header: X-Gone, regexp: b}], fail_if_body_matches_regexp: [gone]}}
          cut_limit: {prober: http, http: {body_size_limit: 8B, fail_if_body_matches_regexp: [gone]}}
          cut_gzip: {prober: http, http: {compression: gzip, headers: {Accept-Encoding: gzip}, fail_if_body_matches_regexp: [gone]}}
          deflate: {prober: http, http: {compression: deflate, headers: {Accept-Encoding: deflate}}}
          deflate_body: {prober: http, http: {compression: deflate, headers: {Accept-Encoding: deflate}, fail_if_body_matches_regexp: [gone]}}
          switch: {prober: http, http: {valid_status_codes: [101]}}
          gzip: {prober: http, http: {compression: gzip, headers: {Accept-Encoding: gzip}}}
          limit: {prober: http, http: {body_size_limit: 8B}}
          http2_only: {prober: http, http: {valid_http_versions: ["HTTP/2.0"]}}
          not_tls: {prober: http, http: {fail_if_ssl: true, tls_config: {insecure_skip_verify: true}}}
          tls: {prober: http, http: {fail_if_not_ssl: true, tls_config: {ca_file: CA}}}
          insecure: {prober: http, http: {tls_config: {insecure_skip_verify: true}}}
          ip6: {prober: http, http: {preferred_ip_protocol: ip6, ip_protocol_fallback: false}}
          post: {prober: http, http: {method: POST, body: ping, headers: {Host: a.example, X-B: c}}}
          basic: {prober: http, http: {basic_auth: {username: u, password: p}}}
          bearer: {prober: http, http: {bearer_token: t0ken}}
        """

    // What each module is tried on; HOST is the plain server, TLS the encrypted one.
    private static let probes: [(module: String, paths: [String])] = [
        (
            "http_2xx",
            [
                "HOST/", "HOST/404", "HOST/r3", "HOST/loop", "HOST/chunked", "HOST/gzip", "HOST/modified", "HOST/204",
                "HOST/300", "HOST/no-location", "HOST/cookie", "HOST/until-close", "127.0.0.1:1/", "invalid://x",
                "http://HOST/?a=b", "https://TLS/", "nowhere.invalid", "HOST/echo", "HOST/with a blank", " HOST/",
                "HOST/ ",
                "HOST/a#b c", "ho st/", "HOST/cut", "HOST/101", "HOST/lengths",
            ]
        ), ("cut", ["HOST/cut", "HOST/cut-chunk", "HOST/cut-404", "HOST/"]), ("cut_header", ["HOST/cut", "HOST/"]),
        ("cut_limit", ["HOST/"]), ("cut_gzip", ["HOST/gzip", "HOST/cut-gzip", "HOST/", "HOST/404"]),
        ("deflate", ["HOST/deflate", "HOST/zlib"]), ("deflate_body", ["HOST/deflate", "HOST/zlib"]),
        (
            "switch", ["HOST/101", "HOST/"]
        ), ("http_404", ["HOST/404", "HOST/"]), ("body", ["HOST/", "HOST/404"]), ("no_body", ["HOST/", "HOST/204"]),
        ("header", ["HOST/", "HOST/404"]), ("no_header", ["HOST/"]), ("missing_header", ["HOST/"]),
        ("allowed_header", ["HOST/"]), ("no_redirects", ["HOST/r1", "HOST/"]), ("gzip", ["HOST/gzip", "HOST/"]),
        ("limit", ["HOST/", "HOST/204", "HOST/chunked"]), ("http2_only", ["HOST/"]),
        ("not_tls", ["https://TLS/", "HOST/"]), ("tls", ["https://TLS/", "HOST/"]), ("insecure", ["https://TLS/"]),
        ("ip6", ["HOST/"]), ("post", ["HOST/echo"]), ("basic", ["HOST/echo"]), ("bearer", ["HOST/echo"]),
    ]

    @Test("Every series of blackbox_exporter is there, with the same value")
    func series() async throws {
        let authority = try await TestAuthority()
        let encrypted = try await TestTLSServer(try await authority.sign(["localhost", "IP:127.0.0.1"]))
        let server = try LiveServer(answer: Self.answer)
        defer { server.stop() }
        let comparison = try await BlackboxComparison(Self.modules.replacing("CA", with: authority.certificate))
        defer { comparison.stop() }
        for (module, paths) in Self.probes {
            for path in paths {
                let target = path.replacing("HOST", with: "127.0.0.1:\(server.port)")
                    .replacing("TLS", with: "127.0.0.1:\(encrypted.port)")
                // The page of openssl-s_server(1) describes the client.
                let own = path.contains("TLS") ? ["probe_http_uncompressed_body_length"] : []
                try await comparison.compare(module, target, exceptValuesOf: own)
            }
        }
        #expect(server.requests.count { $0.path == "/with%20a%20blank" } == 2)
        // What both sent is the same, but for how they call themselves.
        let echoes = server.requests.filter { $0.path == "/echo" }
        #expect(echoes.count == 8)
        for (first, second) in zip(
            echoes.enumerated().filter { $0.0 % 2 == 0 }, echoes.enumerated().filter { $0.0 % 2 == 1 })
        {
            #expect(Self.essence(first.element) == Self.essence(second.element))
        }
    }

    private static func essence(_ request: LiveServerRequest) -> [String] {
        let ignored = ["user-agent", "accept", "accept-encoding", "connection"]
        let fields = request.fields.filter { !ignored.contains($0.name.canonicalName) }
            .map { "\($0.name.canonicalName): \($0.value)" }
        return [request.method, request.path] + fields.sorted() + [String(decoding: request.body, as: UTF8.self)]
    }

    @Sendable
    private static func answer(_ request: LiveServerRequest) -> LiveServerAnswer {
        switch request.path.prefix(while: { $0 != "?" }) {
        case "/404": return .respond(404, ["X-A: b"], text: "not found")
        case "/204": return LiveServerAnswer([.send(LiveServerAnswer.head(204, []))])
        case "/300": return .respond(300, text: "choose")
        case "/no-location": return .respond(302, text: "where?")
        case "/loop": return .respond(302, ["Location: /loop"], text: "again")
        case "/chunked": return .chunked(["hello"])
        case "/gzip": return .respond(200, ["Content-Encoding: gzip"], body: Self.compressed)
        case "/deflate": return .respond(200, ["Content-Encoding: deflate"], body: Self.deflated)
        case "/zlib":
            return .respond(
                200, ["Content-Encoding: deflate"],
                body: [0x78, 0x9C] + Self.deflated + [0x1A, 0x0B, 0x04, 0x5D])
        case "/cut-gzip": return .respond(200, ["Content-Encoding: gzip"], body: Self.compressed.dropLast(12))
        case "/cut", "/cut-404":
            let head = LiveServerAnswer.head(request.path == "/cut" ? 200 : 404, ["Content-Length: 50"])
            return LiveServerAnswer([.send(head + Array("hello".utf8)), .close])
        case "/cut-chunk": return .chunked(["hello"], isWhole: false).then(.close)
        case "/101":
            let head = LiveServerAnswer.head(101, ["Upgrade: tide", "Connection: Upgrade"])
            return LiveServerAnswer([.send(head + Array("hello".utf8)), .close])
        case "/lengths":
            let head = LiveServerAnswer.head(200, ["Content-Length: 5", "Content-Length: 2"])
            return LiveServerAnswer([.send(head + Array("hello".utf8)), .close])
        case "/modified": return .respond(200, ["Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT"], text: "old")
        case "/cookie":
            return request.field("cookie") == nil
                ? .respond(302, ["Location: /cookie", "Set-Cookie: a=b"]) : .respond(text: "welcome")
        case "/until-close":
            return LiveServerAnswer([.send(Array("HTTP/1.0 200 OK\r\n\r\nhello".utf8)), .close])
        case let path where path.hasPrefix("/r"):
            let left = Int(path.dropFirst(2)) ?? 0
            return left == 0 ? .respond(text: "end") : .respond(302, ["Location: /r\(left - 1)"])
        default: return .respond(200, ["X-A: b"], text: "hello world")
        }
    }

    // "hello world" as RFC 1951 has it.
    private static let deflated: [UInt8] = [
        0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF, 0x2F, 0xCA, 0x49, 0x01, 0x00,
    ]

    // "hello world" by gzip(1).
    private static let compressed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF,
        0x2F, 0xCA, 0x49, 0x01, 0x00, 0x85, 0x11, 0x4A, 0x0D, 0x0B, 0x00, 0x00, 0x00,
    ]
}
