import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// What was done or delivered once is not done or delivered again.
@Suite(.timeLimit(.minutes(5)))
struct RepeatTests {
    private static func fixture(lossGrace: Duration = .seconds(2)) throws -> SessionFixture {
        try SessionFixture(
            .with {
                ($0.retry, $0.lossGrace) = (RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10)), lossGrace)
            })
    }

    /// The first half without a word to continue it by, then these steps; a further request gets everything.
    private static func nameless(_ total: Int64, then steps: [LiveServerAnswer.Step]) throws -> LiveServer {
        try LiveServer { request in
            guard request.number == 1 else { return .pattern(total, for: request) }
            let head = LiveServerAnswer.head(200, ["Content-Length: \(total)"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: total / 2)] + steps)
        }
    }

    private static func task(of fixture: SessionFixture, _ server: LiveServer, to output: ScratchOutput) throws
        -> TransferTask
    {
        var request = try TaskRequest(url: server.url())
        request.destination = .descriptor(output.descriptor)
        return fixture.run(request)
    }

    @Test("A PUT whose answer breaks off is sent whole again, and never as a part")
    func put() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number == 1 else { return .pattern(100_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 100000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 50_000), .close])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url(), method: "PUT", body: .data(Array("tide".utf8)))
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("a", 100_000))
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["tide", "tide"])
        #expect(server.requests.allSatisfy { $0.field("content-range") == nil && $0.field("range") == nil })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    private static func http2(_ method: String, _ frames: [UInt8]) async throws -> (TaskResult, protocols: [String]) {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(
            firstAnswer: frames, identity: try await authority.sign(["localhost", "IP:127.0.0.1"]))
        let fixture = try Self.fixture()
        var request = try TaskRequest(
            url: "https://127.0.0.1:\(server.port)/", method: method, body: method == "POST" ? .data([1]) : .none)
        request.options.usesHTTP2 = true
        request.options.tls = ServerTrustPolicy(caFile: authority.certificate)
        let result = await fixture.run(request).result()
        await fixture.session.invalidate(cancellingTasks: true)
        return (result, server.protocols)
    }

    @Test(
        "A POST that a server of HTTP/2 has not processed is sent again, with HTTP/1.1 if the server requires that",
        .enabled(if: TestAuthority.isAvailable && HTTP2Server.isAvailable, "openssl or python3 is not installed"),
        arguments: [
            (HTTP2Server.reset(7), "h2"), (HTTP2Server.goAway(lastStream: 0, 0), "h2"),
            (HTTP2Server.goAway(lastStream: 0, 11), "h2"), (HTTP2Server.reset(13), "http/1.1"),
            (HTTP2Server.goAway(lastStream: 0, 13), "http/1.1"),
        ])
    func unprocessed(_ frames: [UInt8], _ next: String) async throws {
        let (result, protocols) = try await Self.http2("POST", frames)
        #expect(result.outcome == .success && protocols == ["h2", next])
    }

    @Test(
        "A POST that a server of HTTP/2 may have processed is in doubt, whatever it closes the connection with",
        .enabled(if: TestAuthority.isAvailable && HTTP2Server.isAvailable, "openssl or python3 is not installed"),
        arguments: [0, 11, 13])
    func processed(_ code: UInt8) async throws {
        let (result, protocols) = try await Self.http2("POST", HTTP2Server.goAway(lastStream: 1, code))
        #expect(result.failure == .outcomeUnknown && protocols == ["h2"], "\(protocols) \(result)")
    }

    @Test(
        "After another error of HTTP/2 a GET is sent again, and a POST is in doubt",
        .enabled(if: TestAuthority.isAvailable && HTTP2Server.isAvailable, "openssl or python3 is not installed"))
    func internalError() async throws {
        let (get, protocols) = try await Self.http2("GET", HTTP2Server.reset(2))
        #expect(get.outcome == .success && protocols == ["h2", "h2"])
        let (post, once) = try await Self.http2("POST", HTTP2Server.reset(2))
        #expect(post.failure == .outcomeUnknown && once == ["h2"])
        #expect(post.clause == "the server failed to process the request (INTERNAL_ERROR)")
    }

    @Test("A POST that was answered by a redirect is not sent again when the next hop fails")
    func post() async throws {
        // Servers of other tests listen at 127.0.0.1 only.
        let server = try LiveServer { _ in .respond(303, ["Location: http://127.0.0.77:9/"]) }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1])))
        let result = await task.result()
        #expect(result.outcome == .failure)
        #expect(server.requests.count == 1)
        #expect(fixture.eventNames(of: task).filter { $0.hasPrefix("attemptFailed(connectFailed") }.count == 4)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A pipe does not get a body's start twice when the path goes and the body cannot be continued")
    func lostPath() async throws {
        let scratch = try Scratch()
        let server = try Self.nameless(100_000, then: [.hang])
        defer { server.stop() }
        let fixture = try Self.fixture()
        let output = try ScratchOutput(scratch.file("pipe"))
        let task = try Self.task(of: fixture, server, to: output)
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        let address = try #require(IPAddress("127.0.0.1"))
        fixture.paths.hold(address, false)
        fixture.paths.say(ScriptedPathSource.lost())
        #expect(await fixture.wait { task.state.name != .running })
        fixture.paths.hold(address, true)
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.failure == .truncated)
        #expect(result.explanation?.contains("after 50000 bytes had been delivered") == true)
        #expect(result.bytes == 50_000)
        #expect(scratch.hasPattern("pipe", 50_000))
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A pipe does not get a body's start twice when the connection breaks while the path is lost")
    func brokenWhileLost() async throws {
        let scratch = try Scratch()
        let isLost = Latch()
        let server = try Self.nameless(100_000, then: [.waitFor(isLost), .reset])
        defer { server.stop() }
        let fixture = try Self.fixture(lossGrace: .seconds(30))
        let output = try ScratchOutput(scratch.file("pipe"))
        let task = try Self.task(of: fixture, server, to: output)
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.lost())
        isLost.open()
        #expect(await fixture.wait { task.state.name != .running })
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await task.result().failure == .truncated)
        #expect(scratch.hasPattern("pipe", 50_000))
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that cannot be continued is waited for as long as its address lasts")
    func survived() async throws {
        let scratch = try Scratch()
        let server = try Self.nameless(
            100_000, then: [.wait(milliseconds: 1200), .pattern(from: 50_000, count: 50_000)])
        defer { server.stop() }
        let fixture = try Self.fixture(lossGrace: .milliseconds(20))
        let output = try ScratchOutput(scratch.file("pipe"))
        let task = try Self.task(of: fixture, server, to: output)
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.lost())
        #expect(await task.result().outcome == .success)
        #expect(scratch.hasPattern("pipe", 100_000))
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A pipe does not get the start of a PUT's answer twice")
    func putToPipe() async throws {
        let scratch = try Scratch()
        let server = try Self.nameless(100_000, then: [.close])
        defer { server.stop() }
        let fixture = try Self.fixture()
        let output = try ScratchOutput(scratch.file("pipe"))
        var request = try TaskRequest(url: server.url(), method: "PUT", body: .data([1]))
        request.destination = .descriptor(output.descriptor)
        #expect(await fixture.run(request).result().failure == .truncated)
        #expect(scratch.hasPattern("pipe", 50_000))
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
