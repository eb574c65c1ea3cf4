import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct GateTests {
    private static func server() throws -> LiveServer { try LiveServer { _ in .respond(text: "ok") } }

    @Test("A task waits for its path and says for what; the seconds are the wait's")
    func waits() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture(paths: ScriptedPathSource(ScriptedPathSource.lost(.noCarrier)))
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { task.state == .waiting(.path, detail: "no path: the link has no carrier") })
        #expect(fixture.session.statistics().held == [.path: 1])
        #expect(fixture.session.statistics().gateWaiting == 1)
        #expect(server.requests.isEmpty)
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.held[.path] != nil)
        #expect(
            fixture.eventNames(of: task).prefix(6) == [
                "created", "resumed", "held(path)", "released(path)", "gate(delayed)", "attemptStarted(1)",
            ])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("When patience ends the task fails and says what was missing")
    func patience() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let gate = GatePolicy(patience: .milliseconds(30))
        let fixture = try SessionFixture(
            .with { $0.gate = gate }, paths: ScriptedPathSource(ScriptedPathSource.lost(.noAddress)))
        let task = fixture.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.failure == .gateTimeout)
        #expect(result.requireUnmet == .routed)
        #expect(result.explanation == "no path: no address")
        #expect(result.attribution?.party == .mine)
        #expect(result.attempts == 0)
        #expect(
            fixture.eventNames(of: task) == [
                "created", "resumed", "held(path)", "gate(timeout)", "released(path)", "completed(failure)",
            ])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A monitor that cannot see the network opens every gate, and a silent one after a moment")
    func unavailable() async throws {
        let server = try Self.server()
        defer { server.stop() }
        for isSilent in [false, true] {
            let paths = ScriptedPathSource(.unknown)
            if isSilent { paths.beSilent() }
            let fixture = try SessionFixture(paths: paths)
            let result = await fixture.run(try TaskRequest(url: server.url())).result()
            #expect(result.outcome == .success)
            #expect(result.held.isEmpty)
            await fixture.session.invalidate(cancellingTasks: true)
        }
    }

    @Test("A path that begins to cost money stops a task that must not, and a free one lets it go on")
    func metered() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.rangeStart == nil else { return .pattern(200_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 200000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 100_000), .hang])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.options.gate = GatePolicy(require: [.unmetered])
        request.destination = .file(scratch.file("a"))
        let task = fixture.run(request)
        #expect(await fixture.wait { task.currentProgress.receivedWire > 0 })
        fixture.paths.say(ScriptedPathSource.routed(metered: .yes))
        #expect(await fixture.wait { task.state == .waiting(.constraint, detail: "the path over lo is metered") })
        fixture.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(result.refetchedBytes == 0)
        #expect(Set(result.held.keys) == [.constraint])
        #expect(scratch.hasPattern("a", 200_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A task that must be online looks again until it is")
    func online() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.options.gate = GatePolicy(require: [.online])
        let task = fixture.run(request)
        #expect(await fixture.wait { task.state.name == .waiting })
        fixture.paths.say(Verdict(level: .online), for: .ipv4)
        #expect(await task.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A task that asks for nothing does not wait")
    func noGate() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture(paths: ScriptedPathSource(ScriptedPathSource.lost()))
        var request = try TaskRequest(url: server.url())
        request.options.gate = .open
        #expect(await fixture.run(request).result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Fifty tasks of one origin share one watch and are let go one first, the others spread")
    func herd() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture(paths: ScriptedPathSource(ScriptedPathSource.lost()))
        let tasks = try (0..<50).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        #expect(await fixture.wait { fixture.session.statistics().gateWaiting == 50 })
        let target = try Target("127.0.0.1:\(server.port)")
        #expect(fixture.paths.watchesOpened(for: target) == 1)
        fixture.paths.say(ScriptedPathSource.routed())
        var spread = 0
        for task in tasks {
            let result = await task.result()
            #expect(result.outcome == .success)
            if result.held[.schedule] != nil { spread += 1 }
        }
        #expect(spread == 49)
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(fixture.paths.watches == 0)
    }

    @Test("Behind a proxy the gate looks at the proxy")
    func proxy() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.proxy = ProxyPolicy(server.url("")) })
        let task = fixture.run(try TaskRequest(url: "http://elsewhere.test/x"))
        #expect(await task.result().outcome == .success)
        #expect(fixture.paths.watchesOpened(for: try Target("127.0.0.1:\(server.port)")) == 1)
        #expect(fixture.resolver.asked.isEmpty)
        #expect(server.requests.first?.path == "http://elsewhere.test/x")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A name is asked for once for all tasks that need it; for one that does not exist, the task reports that")
    func names() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let resolver = ScriptedResolver(["tide.test": [try #require(IPAddress("127.0.0.1"))]])
        resolver.hold()
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) }, resolver: resolver)
        let tasks = try (0..<5).map { _ in fixture.run(try TaskRequest(url: "http://tide.test:\(server.port)/")) }
        #expect(await fixture.wait { fixture.session.statistics().tasks[.running] == 5 })
        resolver.answer()
        for task in tasks {
            let result = await task.result()
            #expect(result.outcome == .success)
            #expect(result.phases.resolve != nil)
        }
        #expect(resolver.asked == ["tide.test"])
        let lost = await fixture.run(try TaskRequest(url: "http://nowhere.test/")).result()
        #expect(lost.failure == .retriesExhausted)
        #expect(lost.attempts == 2)
        #expect(lost.attribution?.rung == .dns)
        #expect(lost.explanation?.contains("nowhere.test does not exist") == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
