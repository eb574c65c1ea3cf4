import HTTPTypes
import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateServer

/// `/-/reload`, by which the configuration file is read again.
@Suite struct ReloadRouteTests {
    private static let problem = "/etc/tidegate.yml:3: modules.a.prober: unknown prober"
    private let reloads = ReloadCount()

    private func fixture(_ result: Result<[String], ReloadFailure> = .success([])) -> Fixture {
        var fixture = Fixture()
        fixture.reload = { [reloads = self.reloads] () async throws(ReloadFailure) in
            reloads.add()
            return try result.get()
        }
        return fixture
    }

    @Test("A POST reloads, and the answer says what needs a restart")
    func post() async throws {
        let done = try await self.fixture().respond("POST", "/-/reload")
        #expect(done.status == 200 && done.text == "Reloaded.\n" && done.handler == "reload")
        #expect(self.reloads.count == 1)
        let waiting = try await self.fixture(.success(["journal.max_open_tasks", "events"]))
            .respond("POST", "/-/reload")
        #expect(waiting.status == 200)
        #expect(
            waiting.text == "Reloaded; these changed keys need a restart: journal.max_open_tasks, events.\n")
    }

    @Test("Any other method is refused, names POST, and reloads nothing", arguments: ["GET", "HEAD", "PUT", "DELETE"])
    func otherMethods(_ method: String) async throws {
        let answer = try await self.fixture().respond(method, "/-/reload")
        #expect(answer.status == 405 && answer.headers[.allow] == "POST" && answer.handler == "reload")
        #expect(self.reloads.count == 0)
    }

    @Test("A file that is not taken is 500 with its first problem, and says that the former one stays")
    func failure() async throws {
        let one = try await self.fixture(.failure(ReloadFailure(problem: Self.problem))).respond("POST", "/-/reload")
        #expect(one.status == 500)
        #expect(one.text == "failed to reload config: \(Self.problem); the former configuration stays\n")
        let three = try await self.fixture(.failure(ReloadFailure(problem: Self.problem, others: 2)))
            .respond("POST", "/-/reload")
        #expect(
            three.text == "failed to reload config: \(Self.problem) (and 2 more problems, in the log); "
                + "the former configuration stays\n")
    }

    @Test("Without a configuration file there is nothing to reload, and GET is still no way to ask")
    func noFile() async throws {
        let answer = try await Fixture().respond("POST", "/-/reload")
        #expect(answer.status == 404)
        #expect(answer.text == "There is no configuration file: start with --config.file.\n")
        #expect(try await Fixture().respond("GET", "/-/reload").status == 405)
    }

    @Test("Only pages of the endpoint itself may have a browser reload it")
    func origin() async throws {
        try await self.fixture().serving { port in
            for (origin, status) in [
                ("https://evil.example", 403), ("null", 403), ("http://127.0.0.1:\(port + 1)", 403),
                ("http://127.0.0.1:\(port)", 200), ("HTTP://127.0.0.1:\(port)", 200),
            ] {
                let before = self.reloads.count
                try await self.expect(status, port, "-H", "Origin: \(origin)")
                #expect(self.reloads.count - before == (status == 200 ? 1 : 0), "\(origin)")
            }
            let before = self.reloads.count
            try await self.expect(403, port, "-H", "Sec-Fetch-Site: cross-site")
            #expect(self.reloads.count == before)
        }
    }

    @Test("A name that the endpoint does not have is refused for every client")
    func host() async throws {
        try await self.fixture().serving { port in
            try await self.expect(421, port, "-H", "Host: evil.example")
            #expect(self.reloads.count == 0)
        }
    }

    @Test("A reload needs the password where everything does")
    func password() async throws {
        var policy = AccessPolicy()
        policy.users = AccessPolicyTests.users(["ann": AccessPolicyTests.secret])
        try await self.fixture().serving(try ScriptedAccessPolicy(policy)) { port in
            try await self.expect(401, port)
            try await self.expect(401, port, "-u", "ann:wrong")
            #expect(self.reloads.count == 0)
            try await self.expect(200, port, "-u", "ann:secret")
            #expect(self.reloads.count == 1)
        }
    }

    @Test("What comes with a POST is not read, and the connection goes on")
    func body() async throws {
        try await self.fixture().serving { port in
            let connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            for count in 1...2 {
                try connection.send(
                    "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
                #expect(await connection.response().status == 200)
                #expect(self.reloads.count == count)
            }
        }
    }

    private func expect(
        _ status: Int, _ port: Int, _ options: String..., location: SourceLocation = #_sourceLocation
    ) async throws {
        let output = try await Program.expect(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "30", "-X", "POST"] + options
                + ["http://127.0.0.1:\(port)/-/reload"])
        #expect(output == "\(status)", "\(options)", sourceLocation: location)
    }
}

/// How often a reload was asked for.
private final class ReloadCount: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func add() { self.value.withLock { $0 += 1 } }
}
