import NIOHTTP1
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

/// Servers that do not speak WebSocket as they should.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketHostileTests {
    private static let switching = "HTTP/1.1 101 Switching Protocols\r\n"
    private static let accepted = switching + "Upgrade: websocket\r\nConnection: Upgrade\r\n"

    private func probe(_ port: Int, timeout: Duration = .seconds(20)) async throws -> ProbeReport {
        try await WebSocketProbing.probe("ws://tide.test:\(port)/", timeout: timeout) {
            $0.dialogue = [try .expect("never said")]
        }
    }

    @Test(
        "An answer that is no upgrade is shown with its status",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "status", "200, expected 101"),
            (
                "HTTP/1.1 302 Found\r\nLocation: ws://169.254.169.254/\r\nContent-Length: 0\r\n\r\n", 302, "status",
                "302, expected 101"
            ),
            ("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n", 503, "status", "503, expected 101"),
            (
                switching + "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 101, "protocol_error",
                "the server switches to another protocol than WebSocket"
            ),
            (
                accepted + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", 101, "protocol_error",
                "the server's Sec-WebSocket-Accept does not match the key"
            ),
            (
                accepted + "\r\n", 101, "protocol_error", "the server's Sec-WebSocket-Accept does not match the key"
            ),
            (
                "SSH-2.0-OpenSSH_9.2\r\n", 0, "protocol_error", "what the server sends is not an answer of HTTP/1.1"
            ),
        ])
    func refusals(_ answer: String, _ status: Double, _ reason: String, _ text: String) async throws {
        let server = try await ScriptedServer([.readLine, .send(answer), .hang])
        let report = try await self.probe(Int(server.port))
        #expect(report.failure?.reason == reason && report.failure?.text == text, "\(report.failure as Any)")
        #expect(report.failure?.party == .theirs)
        #expect(report.webSocket == [status, 0, 0] && report.value("probe_success") == 0)
    }

    @Test("A server that asks for credentials says that this host's are missing or wrong", arguments: [401, 407])
    func unauthorized(_ status: Int) async throws {
        let server = try await ScriptedServer([
            .readLine, .send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"), .hang,
        ])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(server.port)/")
        #expect(report.failure?.reason == "status" && report.failure?.party == .mine, "\(report.failure as Any)")
    }

    @Test("An extension or protocol that the probe did not offer is refused")
    func extras() async throws {
        for (field, text) in [
            ("Sec-WebSocket-Extensions", "the server uses an extension that was not offered"),
            ("Sec-WebSocket-Protocol", "the server chose a protocol that was not offered"),
        ] {
            let server = try await WebSocketServer([.hang], fields: [field: "permessage-deflate"])
            let report = try await self.probe(server.port)
            #expect(report.failure?.reason == "protocol_error" && report.failure?.text == text)
            #expect(report.webSocket == [101, 0, 0])
        }
    }

    @Test("An answer that never comes, or never ends, ends with the time or with the room for it")
    func endlessAnswers() async throws {
        let silent = try await ScriptedServer([.readLine, .hang])
        let timedOut = try await self.probe(Int(silent.port), timeout: .seconds(3))
        #expect(timedOut.failure?.reason == "timed_out" && timedOut.failure?.party == .theirs)
        #expect(timedOut.phases(of: "websocket") == ["resolve", "connect"])
        for (head, flood) in [
            (Self.switching, String(repeating: "X-More: of it\r\n", count: 100)),
            (Self.switching + "X: ", String(repeating: "and so on", count: 100)),
            ("", String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100)),
        ] {
            let endless = try await ScriptedServer([.readLine, .send(head), .flood(flood)])
            let report = try await self.probe(Int(endless.port))
            #expect(report.failure?.reason == "too_large" && report.failure?.party == .theirs, "\(flood)")
            #expect(report.failure?.text == "the header of the server's answer is too long")
        }
    }

    @Test("A server that closes the connection instead of answering broke it", arguments: ["", "HTTP/1.1 101 Swi"])
    func closedEarly(_ answer: String) async throws {
        let server = try await ScriptedServer([.readLine, .send(answer)])
        let report = try await self.probe(Int(server.port))
        #expect(report.failure?.reason == "reset" && report.failure?.party == .theirs, "\(report.failure as Any)")
        let resetting = try await ScriptedServer([.readLine, .reset])
        #expect(try await self.probe(Int(resetting.port)).failure?.reason == "reset")
    }

    @Test(
        "Frames that break the protocol end the connection with the code for it",
        arguments: [
            (WebSocketServer.frame(1, "hi", isMasked: true), "the server masks its frames"),
            (WebSocketServer.frame(1, "hi", bits: 0x40), "the server sets a bit that belongs to an extension"),
            (WebSocketServer.frame(3, "hi"), "the server sends a frame with an unknown opcode"),
            (WebSocketServer.frame(11, "hi"), "the server sends a frame with an unknown opcode"),
            (WebSocketServer.frame(0, "hi"), "the server continues a message that it never began"),
            (
                WebSocketServer.frame(1, "a", isLast: false) + WebSocketServer.frame(1, "b"),
                "the server begins a message inside another one"
            ),
            (
                WebSocketServer.frame(9, String(repeating: "p", count: 126)),
                "the server sends a control frame of more than 125 bytes"
            ),
            (WebSocketServer.frame(9, "p", isLast: false), "the server sends a control frame in parts"),
            (WebSocketServer.frame(8, "x"), "the server's close frame has half a code"),
        ])
    func violations(_ bytes: [UInt8], _ text: String) async throws {
        let server = try await WebSocketServer([.bytes(bytes), .read])
        let report = try await self.probe(server.port)
        #expect(report.failure?.reason == "protocol_error" && report.failure?.text == text, "\(report.failure as Any)")
        #expect(report.failure?.party == .theirs && report.webSocket == [101, 1, 1])
        #expect(await eventually { server.frames.map(\.data) == [[0x03, 0xEA]] }, "\(server.frames)")
    }

    @Test("Messages and frames that are too long are not kept")
    func tooLarge() async throws {
        let part = WebSocketServer.frame(0, String(repeating: "a", count: 65_536), isLast: false)
        let long = try await WebSocketServer([.bytes(WebSocketServer.frame(1, "a", isLast: false)), .flood(part)])
        let message = try await self.probe(long.port)
        #expect(message.failure?.reason == "too_large" && message.failure?.text == "a message has more than 1 MiB")
        let wide = try await WebSocketServer([.bytes([0x81, 127, 0, 0, 0, 0, 0, 0x10, 0, 1]), .hang])
        let frame = try await self.probe(wide.port)
        #expect(frame.failure?.reason == "too_large" && frame.failure?.text == "a frame has more than 1 MiB")
        let fits = try await WebSocketServer([
            .bytes(WebSocketServer.frame(1, String(repeating: "a", count: 1 << 20))), .hang,
        ])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(fits.port)/") {
            $0.dialogue = [try .expect("a$")]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
    }

    @Test("Unread messages, pings and empty frames without end take no longer than the probe")
    func floods() async throws {
        for frame in [
            WebSocketServer.frame(9, "ping"), WebSocketServer.frame(0, isLast: false), WebSocketServer.frame(10),
        ] {
            let frames = Array(repeatElement(frame, count: 20).joined())
            let server = try await WebSocketServer([.bytes(WebSocketServer.frame(1, isLast: false)), .flood(frames)])
            let report = try await self.probe(server.port, timeout: .seconds(4))
            #expect(report.failure?.reason == "timed_out", "\(report.failure as Any)")
            #expect(report.webSocket == [101, 1, 1])
            #expect(await eventually { server.endings == 1 })
        }
        let chatty = try await WebSocketServer([
            .flood(WebSocketServer.frame(1, String(repeating: "unread", count: 1000)))
        ])
        let report = try await WebSocketProbing.probe("ws://tide.test:\(chatty.port)/")
        #expect(report.value("probe_success") == 1)
        #expect(await eventually { chatty.endings == 1 })
    }

    @Test("A server that ends it before it sent the expected text is reported with its code and reason")
    func closes() async throws {
        for (bytes, text) in [
            (WebSocketServer.close(1008, "go away"), "the server ended it with code 1008: go away"),
            (WebSocketServer.frame(8), "the server ended it"), ([], "the server closed the connection"),
        ] {
            let server = try await WebSocketServer(bytes.isEmpty ? [] : [.bytes(bytes), .read])
            let report = try await self.probe(server.port)
            #expect(report.failure?.reason == "response" && report.failure?.party == .theirs)
            #expect(report.failure?.text == "\(text), without a message that matches \"never said\"")
            #expect(report.webSocket == [101, 1, 1])
        }
        let silent = try await WebSocketServer([.bytes(WebSocketServer.close(1000)), .read])
        let upgraded = try await WebSocketProbing.probe("ws://tide.test:\(silent.port)/")
        #expect(upgraded.value("probe_success") == 1, "An upgrade was all that was asked for")
    }

    @Test("What comes in the packet of the answer counts, and so does the end behind it")
    func atOnce() async throws {
        let bytes =
            WebSocketServer.frame(9, "ping") + WebSocketServer.frame(1, "never said") + WebSocketServer.close(1000)
        for _ in 0..<20 {
            let server = try await WebSocketServer([.bytes(bytes)])
            let report = try await self.probe(server.port)
            #expect(report.value("probe_success") == 1 && report.webSocket == [101, 1, 0], "\(report.failure as Any)")
        }
    }

    @Test("A server that says nothing, or never answers the end, is not waited for longer than the time")
    func silence() async throws {
        let server = try await WebSocketServer([.hang])
        let report = try await self.probe(server.port, timeout: .seconds(5))
        #expect(report.failure?.reason == "timed_out" && report.failure?.party == .theirs)
        #expect(report.webSocket == [101, 1, 1] && report.phases(of: "websocket").contains("transfer"))
        #expect(await eventually { server.endings == 1 })
        // Longer than this test waits: the end of the time is not what ends the connection.
        let upgraded = try await WebSocketProbing.probe("ws://tide.test:\(server.port)/", timeout: .seconds(600))
        #expect(upgraded.value("probe_success") == 1)
        #expect(await eventually { server.endings == 2 })
    }
}
