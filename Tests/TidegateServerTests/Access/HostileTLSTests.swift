import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// Hostile clients of an endpoint with TLS.
@Suite(.serialized, .enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct HostileTLSTests {
    private func serving(
        _ fixture: Fixture = Fixture(), _ body: (Int, Curl) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))
        try await fixture.serving(source) { port in try await body(port, Curl(authority: authority, port: port)) }
    }

    // The beginning of a handshake message of 512 bytes.
    private static let halfHello = "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}"

    @Test(
        "Connections that never finish their handshake are closed, and do not delay others",
        arguments: ["", HostileTLSTests.halfHello])
    func endlessHandshake(_ beginning: String) async throws {
        var fixture = Fixture()
        fixture.configuration.idleTimeout = .seconds(1)
        try await self.serving(fixture) { port, curl in
            var slow: [RawConnection] = []
            for _ in 0..<20 {
                let connection = try await RawConnection.open(port: port)
                if !beginning.isEmpty { try connection.send(beginning) }
                slow.append(connection)
            }
            #expect(try await curl.status() == 200)
            for connection in slow {
                #expect(await connection.isClosedByServer())
                connection.close()
            }
        }
    }

    @Test(
        "Malformed bytes end their connection, and the next client is answered",
        arguments: [
            "\u{16}\u{03}\u{01}\u{00}\u{05}hello", "\u{16}", "\u{15}\u{03}\u{01}\u{00}\u{02}\u{02}\u{28}", "\u{0}",
        ])
    func malformed(_ text: String) async throws {
        var fixture = Fixture()
        fixture.configuration.idleTimeout = .seconds(1)
        try await self.serving(fixture) { port, curl in
            let connection = try await RawConnection.open(port: port)
            try connection.send(text)
            #expect(await connection.isClosedByServer())
            connection.close()
            #expect(try await curl.status() == 200)
        }
    }

    // Half of them begin a handshake, half stay silent; in a process of its own because of its limits.
    private static let crowd = """
        import resource, socket, sys, time
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2048), hard))
        crowd = []
        for number in range(1000):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", int(sys.argv[1])))
            crowd.append(one)
        print("connected", flush=True)
        while True:
            for one in crowd[::2]:
                try: one.send(b"\\x16\\x03\\x01\\x02\\x00\\x01")
                except OSError: pass
            time.sleep(0.5)
        """

    @Test("A client that connects behind a thousand silent connections is answered")
    func thousand() async throws {
        var fixture = Fixture()
        fixture.configuration.idleTimeout = .seconds(2)
        try await self.serving(fixture) { port, curl in
            let crowd = try Program(["python3", "-c", Self.crowd, String(port)])
            defer { crowd.signal(SIGKILL) }
            #expect(await eventually { crowd.outputSoFar.contains("connected") })
            let isAnswered = try await eventually { try await curl.status() == 200 }
            #expect(isAnswered)
            crowd.signal(SIGKILL)
            _ = await crowd.finish()
            let isRecovered = try await eventually { try await curl.status() == 200 }
            #expect(isRecovered)
        }
    }

    @Test("Clients that disconnect during the handshake do not harm others")
    func leaving() async throws {
        try await self.serving { port, curl in
            for round in 0..<200 {
                let connection = try await RawConnection.open(port: port)
                if round % 3 > 0 { try? connection.send(HostileTLSTests.halfHello) }
                connection.close()
            }
            #expect(try await curl.status() == 200)
        }
    }

    @Test("A head that is too large is refused over TLS")
    func largeHead() async throws {
        try await self.serving { _, curl in
            let field = "X-Y: " + String(repeating: "z", count: 20_000)
            let status = try await curl.status("/metrics", "-H", field)
            #expect(status != 200)
            #expect(try await curl.status() == 200)
        }
    }

    @Test("A client that stops reading is disconnected over TLS")
    func slowReader() async throws {
        var fixture = Fixture()
        // Long enough for a request beside it on a busy machine.
        fixture.configuration.writeTimeout = .seconds(8)
        fixture.view.change { state in
            let info = TaskInfo.example(url: "http://10.0.0.1/" + String(repeating: "x", count: 20_000))
            state.tasks = Array(repeating: info, count: 1000)
        }
        try await self.serving(fixture) { port, curl in
            let slow = try Program([
                "curl", "-sN", "--limit-rate", "1k", "--cacert", curl.authority.certificate, "-o", "/dev/null",
                "https://localhost:\(port)/api/v1/tasks",
            ])
            let isBusy = try await eventually {
                try await curl.get("/metrics").output.contains("tidegate_http_requests_in_flight 2")
            }
            #expect(isBusy)
            let isGone = try await eventually {
                try await curl.get("/metrics").output.contains("tidegate_http_requests_in_flight 1")
            }
            #expect(isGone)
            slow.signal(SIGKILL)
        }
    }

    @Test("A stopping server closes its connections, whether encrypted, in their handshake or silent")
    func stopping() async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))
        for _ in 0..<5 {
            var open: [RawConnection] = []
            var streams: [Program] = []
            try await Fixture().serving(source) { port in
                for number in 0..<20 {
                    let connection = try await RawConnection.open(port: port)
                    if number % 2 == 0 { try connection.send(HostileTLSTests.halfHello) }
                    open.append(connection)
                }
                let stream = try Program(["curl", "-sN", "--cacert", authority.certificate, TLSTests.events(port)])
                streams = [stream]
                #expect(await eventually { stream.outputSoFar.contains("event: snapshot") })
            }
            for connection in open {
                #expect(await connection.isClosedByServer())
                connection.close()
            }
            // The end of a stream is the end of its response, not of the time that curl waits.
            for stream in streams { #expect(await stream.finish().status == 0) }
        }
    }
}
