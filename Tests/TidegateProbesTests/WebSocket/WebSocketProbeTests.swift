import Foundation
import HTTPTypes
import NIOHTTP1
import NIOWebSocket
import Testing
import TidegateCore
import TidegateProbes
import TidegateSession
import TidegateTestKit

/// What the prober websocket asks and says, and what it measures.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketProbeTests {
    @Test("A connection that is upgraded is a success, and is ended in the protocol's way")
    func upgrade() async throws {
        let server = try await WebSocketServer([.read])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)/chat?room=a%20b")
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.webSocket == [101, 1, 0])
        #expect(report.phases(of: "websocket") == ["resolve", "connect", "processing", "transfer"])
        #expect(report.value("probe_ip_protocol") == 4 && report.value("probe_ip_addr_hash") == 3_668_918_509)
        let request = try #require(server.requests.first)
        #expect(request.method == .GET && request.uri == "/chat?room=a%20b" && request.version == .http1_1)
        #expect(request.headers["Host"] == ["tide.test:\(server.port)"])
        #expect(request.headers["Upgrade"] == ["websocket"] && request.headers["Connection"] == ["Upgrade"])
        #expect(request.headers["Sec-WebSocket-Version"] == ["13"])
        #expect(request.headers["User-Agent"] == ["Tidegate/1.2.3"])
        let key = try #require(request.headers.first(name: "Sec-WebSocket-Key"))
        #expect(Data(base64Encoded: key)?.count == 16)
        #expect(await eventually { server.endings == 1 })
        #expect(
            server.frames
                == [WebSocketServer.Received(opcode: .connectionClose, isMasked: true, data: [0x03, 0xE8])])
    }

    @Test("Every handshake has another key")
    func keys() async throws {
        let server = try await WebSocketServer([.read])
        for _ in 0..<3 { _ = try await WebSocketProbing.probe("ws://127.0.0.1:\(server.port)") }
        #expect(Set(server.requests.map { $0.headers["Sec-WebSocket-Key"] }).count == 3)
        #expect(server.requests.map(\.uri) == ["/", "/", "/"])
    }

    @Test("Messages are expected and sent in turn, with what was matched, masked and without a line's end")
    func dialogue() async throws {
        let server = try await WebSocketServer([.text("incoming_test"), .read, .text("passed"), .read])
        let steps = [
            try StreamProbeOptions.Step.expect(
                "incoming_(.+)", send: "outgoing_${1}", labels: [.init(name: "what", value: "$1")]),
            try .expect("^passed"),
        ]
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") { $0.dialogue = steps }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.webSocket == [101, 1, 0])
        #expect(report.value("probe_expect_info", "test") == 1)
        #expect(await eventually { server.endings == 1 })
        #expect(server.frames.first?.text == "outgoing_test")
        #expect(server.frames.first?.opcode == .text && server.frames.first?.isMasked == true)
        #expect(!report.log.lines.joined().contains("outgoing_test"))
    }

    @Test("The next message has to match, not one of those behind it")
    func mismatch() async throws {
        let server = try await WebSocketServer([.text("first"), .text("second"), .hang])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") {
            $0.dialogue = [try .expect("second")]
        }
        #expect(report.value("probe_success") == 0 && report.webSocket == [101, 1, 1])
        #expect(report.failure?.reason == "response" && report.failure?.party == .theirs)
        #expect(report.failure?.text == "the message of 5 bytes does not match \"second\"")
    }

    @Test("Messages in parts are joined, and pings between the parts are answered with what they carry")
    func fragments() async throws {
        let server = try await WebSocketServer([
            .bytes(
                WebSocketServer.frame(10, "nobody asked") + WebSocketServer.frame(2, "in ", isLast: false)
                    + WebSocketServer.frame(9, "still there?")),
            .read, .bytes(WebSocketServer.frame(0, "three ", isLast: false) + WebSocketServer.frame(0, "parts")), .read,
            .read,
        ])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") {
            $0.dialogue = [try .expect("^in three parts$", send: "heard")]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(await eventually { server.frames.count == 3 })
        #expect(server.frames.map(\.opcode) == [.pong, .text, .connectionClose])
        #expect(server.frames.prefix(2).map(\.text) == ["still there?", "heard"])
        #expect(server.frames.allSatisfy { $0.isMasked })
    }

    @Test("Credentials and fields of the module are sent; Host and User-Agent take the place of the usual ones")
    func fields() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)")
        try Data("from a file\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try await WebSocketServer([.read], fields: ["Sec-WebSocket-Protocol": "Chat"])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") {
            $0.authorization = .basic(user: .text("me"), password: .text("s3cret"))
            $0.secretHeaders = [
                SecretHeader(name: "Host", value: .text("chat.example")),
                SecretHeader(name: "User-Agent", value: .text("me/1")),
                SecretHeader(name: "Sec-WebSocket-Protocol", value: .text("superchat, chat")),
                SecretHeader(name: "X-Key", value: .file(file.path)), SecretHeader(name: "X-Key", value: .text("b")),
            ]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        let headers = try #require(server.requests.first).headers
        #expect(headers["Authorization"] == ["Basic bWU6czNjcmV0"])
        #expect(headers["Host"] == ["chat.example"] && headers["User-Agent"] == ["me/1"])
        #expect(headers["X-Key"] == ["from a file", "b"] && headers["Sec-WebSocket-Protocol"] == ["superchat, chat"])
        #expect(!"\(report)".contains("s3cret"))
    }

    @Test("A secret that cannot be read is this host's failure, and nothing is connected to")
    func secretFile() async throws {
        let server = try await WebSocketServer([.read])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") {
            $0.authorization = .token(scheme: "Bearer", .file("/nowhere/token"))
        }
        #expect(report.failure?.reason == "file_error" && report.failure?.party == .mine)
        #expect(report.phases(of: "websocket") == ["resolve"] && server.requests.isEmpty)
    }

    @Test("An access token is asked for and sent")
    func token() async throws {
        let tokens = try LiveServer { _ in .respond(text: "{\"access_token\": \"t0ken\"}") }
        defer { tokens.stop() }
        let server = try await WebSocketServer([.read])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)") {
            var options = OAuth2Options()
            (options.clientID, options.clientSecret) = ("me", .text("s3cret"))
            options.tokenURL = try HTTPURL(tokens.url("/token"))
            $0.oauth2 = options
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(server.requests.first?.headers["Authorization"] == ["Bearer t0ken"])
        #expect(!"\(report)".contains("t0ken"))
    }

    @Test("The parameter hostname is the field Host, and must not contradict the module's")
    func hostname() async throws {
        let server = try await WebSocketServer([.read])
        let target = "ws://127.0.0.1:\(server.port)"
        let report = try await WebSocketProbing.probe(target, hostname: "chat.example")
        #expect(report.value("probe_success") == 1 && server.requests.first?.headers["Host"] == ["chat.example"])
        await #expect(throws: ProbeRefusal.hostnameConflict(module: "a.example", parameter: "b.example")) {
            try await WebSocketProbing.probe(target, hostname: "b.example") {
                $0.secretHeaders = [SecretHeader(name: "host", value: .text("a.example"))]
            }
        }
        await #expect(throws: ProbeRefusal.invalidHostname("a b")) {
            try await WebSocketProbing.probe(target, hostname: "a b")
        }
    }

    @Test(
        "Only URLs of WebSocket are targets",
        arguments: [
            "http://tide.test/", "tide.test:80", "ws://", "ws://u:p@tide.test/", "ws://tide.test:99999/", "wss:/a",
        ])
    func targets(_ target: String) async throws {
        let report = try await WebSocketProbing.probe(target)
        #expect(report.failure?.reason == "invalid_target" && report.failure?.party == .mine)
        #expect(report.webSocket == [0, 0, 0] && !"\(report.failure as Any)".contains("u:p"))
    }
}

/// The prober websocket over TLS.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct WebSocketProbeTLSTests {
    @Test("wss needs a certificate for the name, and shows what the server showed")
    func encrypted() async throws {
        let authority = try await TestAuthority()
        let server = try await WebSocketServer(
            [.text("hello"), .read], identity: try await authority.sign(["tide.test"]))
        func probe(_ host: String, _ change: (inout WebSocketProbeOptions) -> Void) async throws -> ProbeReport {
            try await WebSocketProbing.probe("wss://\(host):\(server.port)/") {
                $0.dialogue = [try .expect("hello")]
                $0.tls.caFile = authority.certificate
                change(&$0)
            }
        }
        let named = try await probe("tide.test") { _ in }
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
        #expect(named.webSocket == [101, 1, 0])
        #expect(named.phases(of: "websocket") == ["resolve", "connect", "tls", "processing", "transfer"])
        #expect(named.value("probe_tls_version_info", "TLS 1.3") == 1)
        #expect(named.value("probe_ssl_earliest_cert_expiry") == 2_366_841_600)
        let other = try await probe("other.test") { _ in }
        #expect(other.failure?.reason == "tls_failed" && other.failure?.party == .theirs)
        #expect(other.failure?.text == "the certificate is for tide.test and not for other.test")
        #expect(other.webSocket == [0, 0, 0] && other.phases(of: "websocket") == ["resolve", "connect"])
        #expect(try await probe("other.test") { $0.tls.serverName = "tide.test" }.value("probe_success") == 1)
        #expect(try await probe("other.test") { $0.tls.isInsecure = true }.value("probe_success") == 1)
        #expect(try await probe("127.0.0.1") { $0.tls.caFile = nil }.failure?.reason == "tls_failed")
        let missing = try await probe("tide.test") { $0.tls.caFile = "/nowhere/ca.pem" }
        #expect(missing.failure?.reason == "file_error" && missing.failure?.party == .mine)
    }

    @Test("A server that does not speak TLS, or never answers the handshake, fails in the stage tls")
    func handshake() async throws {
        let plain = try await ScriptedServer([.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .hang])
        let junk = try await WebSocketProbing.probe("wss://tide.test:\(plain.port)/")
        #expect(junk.failure?.reason == "tls_failed" && junk.failure?.party == .theirs)
        let silent = try await ScriptedServer([.hang])
        let report = try await WebSocketProbing.probe("wss://tide.test:\(silent.port)/", timeout: .seconds(3))
        #expect(report.failure?.reason == "timed_out", "\(report.failure as Any)")
        #expect(report.phases(of: "websocket") == ["resolve", "connect"])
    }
}
