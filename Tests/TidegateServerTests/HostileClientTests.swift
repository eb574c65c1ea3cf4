import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite(.serialized) struct HostileClientTests {
    @Test("Clients that never finish their request do not delay others, and are disconnected")
    func slowRequests() async throws {
        var fixture = Fixture()
        fixture.configuration.idleTimeout = .seconds(1)
        try await fixture.serving { (port: Int) in
            var slow: [RawConnection] = []
            for _ in 0..<20 {
                let connection = try await RawConnection.open(port: port)
                try connection.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
                slow.append(connection)
            }
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
            for connection in slow {
                #expect(await connection.isClosedByServer())
                connection.close()
            }
        }
    }

    @Test("A client that stops reading is disconnected, and others are answered meanwhile")
    func slowReader() async throws {
        var fixture = Fixture()
        fixture.configuration.writeTimeout = .seconds(2)
        fixture.view.change { state in
            let info = TaskInfo.example(url: "http://10.0.0.1/" + String(repeating: "x", count: 4000))
            state.tasks = Array(repeating: info, count: 4000)
        }
        try await fixture.serving { (port: Int) in
            let slow = try await RawConnection.open(port: port, receiveBuffer: 4096)
            try slow.send("GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
            let isGone = try await eventually {
                let metrics = try await RawConnection.ask(port: port, "/metrics")
                return metrics.body.contains("tidegate_http_requests_in_flight 1\n")
            }
            #expect(isGone)
            slow.close()
        }
    }

    @Test("A head that is too large is refused")
    func largeHead() async throws {
        try await Fixture().serving { (port: Int) in
            let head =
                "GET / HTTP/1.1\r\nHost: localhost\r\n"
                + String(repeating: "X-Y: \(String(repeating: "z", count: 1000))\r\n", count: 40)
            let response = try await RawConnection.exchange(port: port, head + "\r\n")
            // The refusal is lost if the connection is closed before the whole head was read (RFC 9112 section 9.6).
            #expect([0, 400].contains(response.status))
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
        }
    }

    @Test(
        "A malformed request is refused, an empty one is disconnected, and the next client is answered",
        arguments: [
            ("\r\n\r\n", 0), ("GET\r\n\r\n", 400), ("\u{0}\u{1}\u{2}\r\n\r\n", 400), ("GET / HTTP/9.9\r\n\r\n", 400),
            ("GET  HTTP/1.1\r\n\r\n", 400),
        ])
    func malformed(_ request: String, _ status: Int) async throws {
        var fixture = Fixture()
        fixture.configuration.idleTimeout = .seconds(1)
        try await fixture.serving { (port: Int) in
            let response = try await RawConnection.exchange(port: port, request)
            #expect(response.status == status && response.isAtEnd == (status == 0))
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
        }
    }

    @Test("Many clients at a time are all answered")
    func many() async throws {
        try await Fixture().serving { (port: Int) in
            let answered = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 { group.addTask { try await RawConnection.ask(port: port, "/-/ready").status } }
                return try await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
            }
            #expect(answered == 100)
        }
    }
}
