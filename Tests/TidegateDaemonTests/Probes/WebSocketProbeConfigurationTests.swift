import Testing
import TidegateCore
import TidegateProbes
import TidegateCEL

@testable import TidegateDaemon

/// The keys of the prober websocket.
@Suite struct WebSocketProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        let file = "modules:\n  m:\n" + yaml.split(separator: "\n").map { "    \($0)\n" }.joined()
        return try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
    }

    @Test("Every key has its place, and what is secret is left out of what is shown")
    func keys() throws {
        let module = try Self.module(
            """
            prober: websocket
            timeout: 5s
            websocket:
              preferred_ip_protocol: ip4
              ip_protocol_fallback: false
              http_config:
                basic_auth: {username: u, password: s3cret}
                tls_config: {ca_file: /ca.pem, server_name: 192.0.2.1, insecure_skip_verify: true}
                http_headers: {X-Key: {secrets: [s3cret], files: [/key]}}
                follow_redirects: false
                enable_http2: false
              headers:
                Accept: {values: ["text/plain"]}
                Origin: {values: ["https://a.example"]}
                Host: {values: [b.example]}
                Cookie: {values: [s3cret]}
              query_response:
                - expect: "^hello (.*)"
                  send: "hi ${1}"
                  starttls: false
                  labels: [{name: whom, value: "${1}"}]
                - send: bye
            """)
        let options = try #require(module.websocket)
        #expect(module.timeout == .seconds(5))
        #expect(options.family == FamilyPreference(.ipv4, allowsFallback: false))
        #expect(options.authorization == .basic(user: .text("u"), password: .text("s3cret")))
        #expect(options.tls.caFile == "/ca.pem" && options.tls.serverName == "192.0.2.1" && options.tls.isInsecure)
        #expect(options.secretHeaders.map(\.name) == ["X-Key", "X-Key", "Accept", "Origin", "Host", "Cookie"])
        #expect(options.secretHeaders.prefix(2).map(\.value) == [.text("s3cret"), .file("/key")])
        #expect(options.dialogue.map { $0.expect?.pattern } == ["^hello (.*)", nil])
        #expect(options.dialogue.map(\.send) == ["hi ${1}", "bye"])
        #expect(options.dialogue[0].labels.map(\.name) == ["whom"])
        #expect(!module.text.contains("s3cret"), "\(module.text)")
        #expect(module.text.contains("Host:\n      values:\n        - b.example"), "\(module.text)")
        #expect(module.text.contains("    Cookie: <secret>"), "\(module.text)")
    }

    @Test("Tokens are read as those of the prober http; without keys a module is blackbox_exporter's default")
    func tokens() throws {
        #expect(try Self.module("prober: websocket").websocket == WebSocketProbeOptions())
        let bearer = try Self.module("prober: websocket\nwebsocket: {http_config: {bearer_token: s3cret}}")
        #expect(bearer.websocket?.authorization == .token(scheme: "Bearer", .text("s3cret")))
        #expect(!bearer.text.contains("s3cret"))
        let scheme = try Self.module(
            "prober: websocket\nwebsocket: {http_config: {authorization: {type: Token, credentials_file: /t}}}")
        #expect(scheme.websocket?.authorization == .token(scheme: "Token", .file("/t")))
        let oauth2 = try Self.module(
            """
            prober: websocket
            websocket: {http_config: {oauth2: {client_id: me, client_secret: s3cret, token_url: "https://a.example/t"}}}
            """)
        #expect(oauth2.websocket?.oauth2?.clientID == "me" && !oauth2.text.contains("s3cret"))
    }

    @Test(
        "What a WebSocket connection cannot have is refused by name",
        arguments: [
            ("{http_config: {proxy_url: \"http://p:1\"}}", ".http_config.proxy_url: not available in this version"),
            ("{http_config: {no_proxy: a}}", ".http_config.no_proxy: not available in this version"),
            (
                "{http_config: {proxy_from_environment: true}}",
                ".http_config.proxy_from_environment: WebSocket connections do not support this"
            ),
            (
                "{http_config: {follow_redirects: true}}",
                ".http_config.follow_redirects: WebSocket connections do not support this"
            ),
            (
                "{http_config: {enable_http2: true}}",
                ".http_config.enable_http2: WebSocket connections do not support this"
            ),
            (
                "{query_response: [{starttls: true}]}",
                ".query_response[0].starttls: WebSocket connections do not support this"
            ),
            ("{query_response: [{expect_bytes: a}]}", ".query_response[0].expect_bytes: not available in this version"),
            (
                "{query_response: [{send: a, labels: [{name: a}]}]}",
                ".query_response[0]: labels need an expect in the same entry"
            ),
            (
                "{headers: {Sec-WebSocket-Key: {values: [a]}}}",
                ".headers.Sec-WebSocket-Key: the field Sec-WebSocket-Key cannot be set with headers"
            ),
            (
                "{http_config: {http_headers: {Host: {values: [a]}}}}",
                ".http_config.http_headers.Host: the field Host cannot be set with http_headers"
            ),
            (
                "{http_config: {bearer_token: a, basic_auth: {username: u}}}",
                ".http_config: basic_auth and bearer_token are mutually exclusive"
            ),
            ("{tls: true}", ".tls: unknown key"),
        ])
    func refusals(_ options: String, _ message: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try Self.module("{prober: websocket, websocket: \(options)}")
        }
        #expect("\(error as Any)".contains("modules.m.websocket\(message)"), "\(error as Any)")
    }
}
