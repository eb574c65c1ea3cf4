import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct PathLossTests {
    /// Sends half of the pattern and then says nothing; ranges are answered whole.
    private static func stuck(_ total: Int64) throws -> LiveServer {
        try LiveServer { request in
            guard request.rangeStart == nil else { return .pattern(total, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: \(total)"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: total / 2), .hang])
        }
    }

    private static func download(_ server: LiveServer, to path: String) throws -> TaskRequest {
        var request = try TaskRequest(url: server.url())
        request.destination = .file(path)
        return request
    }

    @Test("A download whose path goes is held after the grace and goes on by Range: no attempt charged, no byte twice")
    func lostLink() async throws {
        let scratch = try Scratch()
        let server = try Self.stuck(400_000)
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.lossGrace = .milliseconds(50) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.lost(.noCarrier))
        #expect(await fixture.wait { task.state == .waiting(.path, detail: "no path: lo has no carrier") })
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(scratch.hasPattern("a", 400_000))
        #expect(result.attempts == 1)
        #expect(result.refetchedBytes == 0)
        #expect(result.wireBytes == 400_000)
        #expect(Set(result.held.keys) == [.path])
        let names = fixture.eventNames(of: task).filter { $0 != "progress" }
        #expect(
            names == [
                "created", "resumed", "gate(immediate)", "attemptStarted(1)", "responseHead(200)",
                "attemptFailed(stalled, free)", "held(path)", "released(path)", "gate(delayed)", "attemptStarted(2)",
                "responseHead(206)", "continued", "attemptSucceeded", "moved", "completed(success)",
            ])
        #expect(fixture.poolRenewals == 1)
        #expect(fixture.resolver.invalidations == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A route that moves ends the attempt at once, and the next one follows without a hold")
    func movedRoute() async throws {
        let scratch = try Scratch()
        let server = try Self.stuck(200_000)
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.lossGrace = .seconds(30) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.routed(over: "eth1", index: 3))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(result.held.isEmpty)
        #expect(scratch.hasPattern("a", 200_000))
        #expect(fixture.poolRenewals == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A source address that goes ends the attempt at once")
    func goneAddress() async throws {
        let scratch = try Scratch()
        let server = try Self.stuck(200_000)
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.lossGrace = .seconds(30) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        let address = try #require(IPAddress("127.0.0.1"))
        fixture.paths.hold(address, false)
        fixture.paths.say(ScriptedPathSource.lost(.noAddress))
        #expect(await fixture.wait { task.state.name == .waiting })
        fixture.paths.hold(address, true)
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Why nothing goes out is known at once, not only when the path is given up")
    func stall() async throws {
        let scratch = try Scratch()
        let server = try Self.stuck(200_000)
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.lossGrace = .seconds(30) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        #expect(task.info.stall == nil)
        fixture.paths.say(ScriptedPathSource.lost())
        #expect(await fixture.wait { task.info.stall?.hasPrefix("no path: ") == true })
        #expect(task.state == .running(attempt: 1))
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await fixture.wait { task.info.stall == nil })
        task.cancel()
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A flap within the grace changes nothing where bytes go on coming")
    func flap() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(300_000, for: $0, slice: 10_000, pauseMilliseconds: 10) }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { ($0.lossGrace, $0.silenceAfterReturn) = (.seconds(5), .milliseconds(100)) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.lost())
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(server.requests.count == 1)
        #expect(result.held.isEmpty)
        #expect(fixture.poolRenewals == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A connection that stays silent after its path came back is given up")
    func silent() async throws {
        let scratch = try Scratch()
        let server = try Self.stuck(200_000)
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { ($0.lossGrace, $0.silenceAfterReturn) = (.seconds(5), .milliseconds(50)) })
        let task = fixture.run(try Self.download(server, to: scratch.file("a")))
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.lost())
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(server.requests.count == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A POST that may have arrived when the path goes is not sent again")
    func post() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1, 2, 3])))
        #expect(await fixture.wait { !server.requests.isEmpty })
        fixture.paths.hold(try #require(IPAddress("127.0.0.1")), false)
        fixture.paths.say(ScriptedPathSource.lost())
        let result = await task.result()
        #expect(result.failure == .outcomeUnknown)
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A name that was being asked for when the path went is asked for anew over the next one")
    func name() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let resolver = ScriptedResolver()
        resolver.hold()
        let fixture = try SessionFixture(resolver: resolver)
        let task = fixture.run(try TaskRequest(url: "http://slow.test:\(server.port)/"))
        #expect(await fixture.wait { resolver.asked == ["slow.test"] })
        fixture.paths.say(ScriptedPathSource.lost())
        #expect(await fixture.wait { task.state.name == .waiting })
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await fixture.wait { resolver.asked == ["slow.test", "slow.test"] })
        #expect(resolver.invalidations == 1)
        resolver.say(.success([try #require(IPAddress("127.0.0.1"))]), about: "slow.test")
        resolver.answer()
        #expect(await task.result().outcome == .success)
        #expect(resolver.asked.count == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Names that the monitor learns later

    /// A session in which the monitor has not resolved slow.test yet, so that its verdict is that on the resolvers.
    private static func unresolved(_ configuration: SessionConfiguration = .init()) throws -> SessionFixture {
        let resolver = ScriptedResolver()
        resolver.say(.success([try #require(IPAddress("127.0.0.1"))]), about: "slow.test")
        return try SessionFixture(
            configuration,
            paths: ScriptedPathSource(ScriptedPathSource.routed(over: "eth0", index: 2, source: "192.0.2.1")),
            resolver: resolver)
    }

    private static func resolved(_ server: LiveServer, over path: Verdict) throws -> TargetVerdict {
        let target = try Target("slow.test:\(server.port)")
        let address = try #require(IPAddress("127.0.0.1"))
        return TargetVerdict(
            target: target, verdict: path, addresses: [AddressVerdict(address: address, verdict: path)])
    }

    @Test(
        "The path to the resolvers is not a connection's: that to its own address is no change",
        arguments: [true, false])
    func resolvedLate(isIdempotent: Bool) async throws {
        let answers = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(answers), .send(LiveServerAnswer.head(204, []))])
        }
        defer { server.stop() }
        let fixture = try Self.unresolved()
        let url = "http://slow.test:\(server.port)/"
        let task = fixture.run(try TaskRequest(url: url, method: isIdempotent ? "GET" : "POST"))
        #expect(await fixture.wait { server.requests.count == 1 })
        fixture.paths.say(try Self.resolved(server, over: ScriptedPathSource.routed()))
        let other = fixture.run(try TaskRequest(url: url))
        #expect(await fixture.wait { server.requests.count == 2 })
        answers.open()
        #expect(await task.result().outcome == .success)
        #expect(await other.result().outcome == .success)
        #expect(server.requests.count == 2)
        #expect(fixture.poolRenewals == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A connection's path is known once its address is, and its change ends the attempt")
    func movedAfterResolution() async throws {
        let server = try LiveServer { $0.number == 1 ? LiveServerAnswer([.hang]) : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try Self.unresolved()
        let task = fixture.run(try TaskRequest(url: "http://slow.test:\(server.port)/"))
        #expect(await fixture.wait { server.requests.count == 1 })
        fixture.paths.say(try Self.resolved(server, over: ScriptedPathSource.routed()))
        fixture.paths.say(try Self.resolved(server, over: ScriptedPathSource.routed(over: "eth1", index: 3)))
        #expect(await task.result().outcome == .success)
        #expect(server.requests.count == 2)
        #expect(fixture.poolRenewals == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The path of another address of a name is not a connection's")
    func otherAddress() async throws {
        let answers = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(answers), .send(LiveServerAnswer.head(204, []))])
        }
        defer { server.stop() }
        let fixture = try Self.unresolved()
        fixture.paths.say(try Self.resolved(server, over: ScriptedPathSource.routed()))
        let task = fixture.run(try TaskRequest(url: "http://slow.test:\(server.port)/"))
        #expect(await fixture.wait { server.requests.count == 1 })
        var verdict = try Self.resolved(server, over: ScriptedPathSource.routed(over: "eth1", index: 3))
        verdict.addresses[0].address = try #require(IPAddress("192.0.2.9"))
        fixture.paths.say(verdict)
        answers.open()
        #expect(await task.result().outcome == .success)
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A failure after the monitor has resolved the name is not put down to a path that moved")
    func blame() async throws {
        let refuses = Latch()
        let server = try LiveServer { _ in LiveServerAnswer([.waitFor(refuses), .reset]) }
        defer { server.stop() }
        let fixture = try Self.unresolved()
        var request = try TaskRequest(url: "http://slow.test:\(server.port)/")
        request.options.retry = RetryPolicy(attempts: 1)
        let task = fixture.run(request)
        #expect(await fixture.wait { server.requests.count == 1 })
        fixture.paths.say(try Self.resolved(server, over: ScriptedPathSource.routed()))
        refuses.open()
        let result = await task.result()
        #expect(result.failure == .reset)
        #expect(result.attribution?.party == .theirs)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
