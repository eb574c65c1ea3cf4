import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

@Suite(.timeLimit(.minutes(5)))
struct GateTests {
    private static func server() throws -> LiveServer { try LiveServer { _ in .respond(text: "ok") } }

    @Test("A task waits for its path and says for what; the seconds are the wait's")
    func waits() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try SessionRig(paths: ScriptedPathSource(ScriptedPathSource.lost(.noCarrier)))
        let task = rig.run(try TaskRequest(url: server.url()))
        #expect(await rig.wait { task.state == .waiting(.path, detail: "no path: the link has no carrier") })
        #expect(rig.session.statistics().held == [.path: 1])
        #expect(rig.session.statistics().gateWaiting == 1)
        #expect(server.requests.isEmpty)
        rig.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.held[.path] != nil)
        #expect(
            rig.words(of: task).prefix(6) == [
                "created", "resumed", "held(path)", "released(path)", "gate(delayed)", "attemptStarted(1)",
            ])
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("When patience ends the task fails and says what was missing")
    func patience() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let gate = try GatePolicy(patience: .milliseconds(30))
        let rig = try SessionRig(try .init(gate: gate), paths: ScriptedPathSource(ScriptedPathSource.lost(.noAddress)))
        let task = rig.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.failure == .gateTimeout)
        #expect(result.requireUnmet == .routed)
        #expect(result.explanation == "no path: the link has no address")
        #expect(result.attribution?.party == .mine)
        #expect(result.attempts == 0)
        #expect(
            rig.words(of: task) == [
                "created", "resumed", "held(path)", "gate(timeout)", "released(path)", "completed(failure)",
            ])
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("A blind monitor opens every gate, and a silent one after a moment")
    func blind() async throws {
        let server = try Self.server()
        defer { server.stop() }
        for isSilent in [false, true] {
            let paths = ScriptedPathSource(.unknown)
            if isSilent { paths.beSilent() }
            let rig = try SessionRig(paths: paths)
            let result = await rig.run(try TaskRequest(url: server.url())).result()
            #expect(result.outcome == .success)
            #expect(result.held.isEmpty)
            await rig.session.invalidate(cancellingTasks: true)
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
        let rig = try SessionRig()
        var request = try TaskRequest(url: server.url())
        request.gate = try GatePolicy(require: [.unmetered])
        request.destination = .file(scratch.file("a"))
        let task = rig.run(request)
        #expect(await rig.wait { task.progress.receivedWire > 0 })
        rig.paths.say(ScriptedPathSource.routed(metered: .yes))
        #expect(await rig.wait { task.state == .waiting(.constraint, detail: "the path over lo is metered") })
        rig.paths.say(ScriptedPathSource.routed())
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 1)
        #expect(result.refetchedBytes == 0)
        #expect(Set(result.held.keys) == [.constraint])
        #expect(scratch.hasPattern("a", 200_000))
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("A task that must be online looks again until it is")
    func online() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try SessionRig()
        var request = try TaskRequest(url: server.url())
        request.gate = try GatePolicy(require: [.online])
        let task = rig.run(request)
        #expect(await rig.wait { task.state.name == .waiting })
        rig.paths.say(Verdict(level: .online), for: .ipv4)
        #expect(await task.result().outcome == .success)
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("A task that asks for nothing does not wait")
    func noGate() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try SessionRig(paths: ScriptedPathSource(ScriptedPathSource.lost()))
        var request = try TaskRequest(url: server.url())
        request.gate = .open
        #expect(await rig.run(request).result().outcome == .success)
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("Fifty tasks of one origin share one watch and are let go one first, the others spread")
    func herd() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try SessionRig(paths: ScriptedPathSource(ScriptedPathSource.lost()))
        let tasks = try (0..<50).map { _ in rig.run(try TaskRequest(url: server.url())) }
        #expect(await rig.wait { rig.session.statistics().gateWaiting == 50 })
        let target = try Target("127.0.0.1:\(server.port)")
        #expect(rig.paths.watchesOpened(for: target) == 1)
        rig.paths.say(ScriptedPathSource.routed())
        var spread = 0
        for task in tasks {
            let result = await task.result()
            #expect(result.outcome == .success)
            if result.held[.schedule] != nil { spread += 1 }
        }
        #expect(spread == 49)
        await rig.session.invalidate(cancellingTasks: true)
        #expect(rig.paths.watches == 0)
    }

    @Test("Behind a proxy the gate looks at the proxy")
    func proxy() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try SessionRig(try .init(proxy: server.url("")))
        let task = rig.run(try TaskRequest(url: "http://elsewhere.test/x"))
        #expect(await task.result().outcome == .success)
        #expect(rig.paths.watchesOpened(for: try Target("127.0.0.1:\(server.port)")) == 1)
        #expect(rig.resolver.asked.isEmpty)
        #expect(server.requests.first?.path == "http://elsewhere.test/x")
        await rig.session.invalidate(cancellingTasks: true)
    }

    @Test("A name is asked for once for all who need it; one that does not exist is told so")
    func names() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let resolver = ScriptedResolver(["tide.test": [try #require(IPAddress("127.0.0.1"))]])
        resolver.hold()
        let rig = try SessionRig(
            try .init(retry: try RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))), resolver: resolver)
        let tasks = try (0..<5).map { _ in rig.run(try TaskRequest(url: "http://tide.test:\(server.port)/")) }
        #expect(await rig.wait { rig.session.statistics().tasks[.running] == 5 })
        resolver.answer()
        for task in tasks {
            let result = await task.result()
            #expect(result.outcome == .success)
            #expect(result.phases.resolve != nil)
        }
        #expect(resolver.asked == ["tide.test"])
        let lost = await rig.run(try TaskRequest(url: "http://nowhere.test/")).result()
        #expect(lost.failure == .retriesExhausted)
        #expect(lost.attempts == 2)
        #expect(lost.attribution?.rung == .dns)
        #expect(lost.explanation?.contains("nowhere.test does not exist") == true)
        await rig.session.invalidate(cancellingTasks: true)
    }
}
