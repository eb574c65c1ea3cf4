import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// Crowds of connections that want to keep a scraper out.
@Suite(.serialized) struct HostileCrowdTests {
    private static var fixture: Fixture {
        var fixture = Fixture()
        fixture.configuration.maxConnections = 64
        return fixture
    }

    // Unread responses take no places but answers, whose number is limited for all peers together.
    private static let tricks = HostileClient.tricks.filter {
        $0.description != "responses that the client never reads"
    }

    private func scrapes(_ port: Int) async throws {
        for round in 0..<5 {
            let clock = ContinuousClock()
            let start = clock.now
            let path = round % 2 == 0 ? "/metrics" : "/-/healthy"
            let status = try await RawConnection.ask(port: port, path).status
            // The scrape_timeout that Prometheus has by default.
            #expect(status == 200, "\(path) after \(clock.now - start)")
            #expect(clock.now - start < .seconds(10), "\(path)")
            try await clock.sleep(for: .milliseconds(200))
        }
    }

    @Test(
        "Scrapes and health checks are answered behind a crowd of another address",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), arguments: Self.tricks)
    func others(_ trick: HostileClient.Trick) async throws {
        try await Self.fixture.serving { port in
            let crowds = (2..<8).map {
                HostileClient(trick, port: port, connections: 32, from: "127.0.0.\($0)", seed: UInt64($0))
            }
            defer { for crowd in crowds { crowd.stop() } }
            try await ContinuousClock().sleep(for: .milliseconds(500))
            try await self.scrapes(port)
        }
    }

    @Test(
        "Scrapes and health checks are answered behind a crowd of their own address",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"),
        arguments: Self.tricks.filter { $0.description != "a body that never ends" })
    func own(_ trick: HostileClient.Trick) async throws {
        // All places of the listener; the crowd's are a quarter, and change hands 50 times a second.
        try await Fixture().serving { port in
            let crowd = HostileClient(trick, port: port, connections: 300, reconnects: 1)
            defer { crowd.stop() }
            try await ContinuousClock().sleep(for: .milliseconds(500))
            try await self.scrapes(port)
        }
    }

    @Test(
        "Scrapes are answered behind a crowd before TLS and before a password",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), arguments: Self.tricks,
        [true, false])
    func guarded(_ trick: HostileClient.Trick, _ isEncrypted: Bool) async throws {
        var policy = AccessPolicy()
        policy.users = AccessPolicyTests.users(["ann": AccessPolicyTests.secret])
        let authority = isEncrypted ? try await TestAuthority() : nil
        if let authority { policy.tls = try AccessPolicy.encrypted(try await authority.sign(["localhost"])).tls }
        try await Fixture().serving(try ScriptedAccessPolicy(policy)) { port in
            let crowd = HostileClient(trick, port: port, connections: 300, reconnects: 1)
            defer { crowd.stop() }
            try await ContinuousClock().sleep(for: .milliseconds(500))
            for _ in 0..<3 {
                let url = "\(isEncrypted ? "https" : "http")://localhost:\(port)/metrics"
                let trust = authority.map { ["--cacert", $0.certificate] } ?? []
                let answer = try await Program.run(
                    ["curl", "-4s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10", "-u", "ann:secret"]
                        + trust + [url])
                #expect(answer.output == "200")
            }
        }
    }

    @Test(
        "A request has its time, however it drips",
        arguments: HostileClient.tricks.filter { $0.drip.count < 9 && $0.description != "a request, then silence" })
    func time(_ trick: HostileClient.Trick) async throws {
        var fixture = Fixture()
        fixture.configuration.requestTimeout = .seconds(1)
        try await fixture.serving { port in
            let connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            try connection.send(trick.opening)
            let clock = ContinuousClock()
            let start = clock.now
            let dripping = Task {
                while !Task.isCancelled {
                    try? connection.send(trick.drip)
                    try await clock.sleep(for: .milliseconds(100))
                }
            }
            #expect(await connection.isClosedByServer())
            dripping.cancel()
            #expect(clock.now - start < .seconds(6))
        }
    }

    @Test("Pipelined requests without a reader end their connection, and hardly any is carried out")
    func pipelined() async throws {
        let fixture = Fixture()
        fixture.view.change { state in state.tasks = (0..<1000).map { _ in TaskInfo.example() } }
        try await fixture.serving { port in
            let connection = try await RawConnection.open(port: port, receiveBuffer: 4096)
            defer { connection.close() }
            let request = "GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let clock = ContinuousClock()
            let start = clock.now
            try connection.send(String(repeating: request, count: ConnectionHandler.maxWaiting + 8))
            #expect(await connection.isClosedByServer())
            // Not because writing takes too long.
            #expect(clock.now - start < fixture.configuration.writeTimeout)
            #expect(fixture.view.listings < 4)
        }
    }

    @Test("The second request of a connection has its time, too")
    func second() async throws {
        var fixture = Fixture()
        fixture.configuration.requestTimeout = .seconds(1)
        try await fixture.serving { port in
            let connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            try connection.send("GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(await connection.response().status == 200)
            try await ContinuousClock().sleep(for: .milliseconds(1500))
            try connection.send("GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(await connection.response().status == 200)
            try connection.send("GET ")
            #expect(await connection.isClosedByServer())
        }
    }

    @Test(
        "Requests for another host, without one, with two, and a GET with a body are refused",
        arguments: [
            ("Host: evil.example\r\n", 421), ("", 400), ("Host: localhost\r\nHost: localhost\r\n", 400),
            ("Host: localhost\r\nContent-Length: 1\r\n", 400),
            ("Host: localhost\r\nTransfer-Encoding: chunked\r\n", 400),
            ("Host: localhost\r\nContent-Length: 0\r\n", 200),
        ])
    func refused(_ fields: String, _ status: Int) async throws {
        try await Fixture().serving { port in
            for path in ["/metrics", "/-/healthy", "/", "/nothing"] {
                let response = try await RawConnection.exchange(port: port, "GET \(path) HTTP/1.1\r\n\(fields)\r\n")
                #expect(response.status == (status == 200 && path == "/nothing" ? 404 : status))
            }
        }
    }
}
