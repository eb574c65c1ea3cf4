import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Who goes first after an outage, pools and names on a new path.
@Suite(.timeLimit(.minutes(5)))
struct CanaryTests {
    @Test("When the first one fails the others go on waiting and another one goes first, until one gets through")
    func failingCanary() async throws {
        let port = try UInt16(FreePort.find(on: "127.0.0.78"))
        let fixture = try SessionFixture(
            .with { ($0.retry, $0.circuit) = (.never, .never) }, paths: ScriptedPathSource(ScriptedPathSource.lost()))
        let tasks = try (0..<12).map { _ in fixture.run(try TaskRequest(url: "http://127.0.0.78:\(port)/")) }
        #expect(await fixture.wait { fixture.session.statistics().held[.path] == 12 })
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await fixture.wait { tasks.count { $0.state == .completed(.failure) } >= 2 })
        let server = try LiveServer(address: "127.0.0.78", port: port) { _ in .respond(text: "ok") }
        defer { server.stop() }
        var outcomes: [TaskOutcome] = []
        for task in tasks { outcomes.append(await task.result().outcome) }
        #expect(outcomes.contains(.success))
        // One at a time: with all let go, the second would have started before the first had failed.
        let attempts = fixture.recorder.events.compactMap { event -> String? in
            guard case .task(let event) = event.payload else { return nil }
            return ["attemptStarted", "attemptFailed", "attemptSucceeded"].first(where: event.kind.eventName.hasPrefix)
        }
        let alone = attempts.prefix { $0 != "attemptSucceeded" }
        #expect(alone.count >= 5)
        for (index, name) in alone.enumerated() {
            #expect(name == (index % 2 == 0 ? "attemptStarted" : "attemptFailed"))
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A kept connection and a known name belong to their path: on a new one both are made anew")
    func newPath() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let address = try #require(IPAddress("127.0.0.1"))
        let resolver = ScriptedResolver(["tide.test": [address]])
        let fixture = try SessionFixture(resolver: resolver)
        let target = try Target("tide.test:\(server.port)")
        let url = "http://\(target)/"
        func say(_ verdict: Verdict) {
            let own = AddressVerdict(address: address, verdict: verdict)
            fixture.paths.say(TargetVerdict(target: target, verdict: verdict, addresses: [own]))
        }
        say(ScriptedPathSource.routed())
        for _ in 0..<3 { #expect(await fixture.run(try TaskRequest(url: url)).result().outcome == .success) }
        #expect(server.accepted == 1)
        let asked = resolver.asked.count
        say(ScriptedPathSource.routed(over: "eth1", index: 7))
        #expect(await fixture.wait { fixture.poolRenewals == 1 })
        #expect(await fixture.wait { server.open == 0 })
        #expect(await fixture.run(try TaskRequest(url: url)).result().outcome == .success)
        #expect(server.accepted == 2)
        #expect(resolver.asked.count > asked)
        #expect(resolver.invalidations == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An unrelated change keeps connections and names")
    func samePath() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        for _ in 0..<3 {
            #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
            fixture.paths.say(ScriptedPathSource.routed(metered: .guessYes))
        }
        // The last change has been seen once a later task is over.
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(server.accepted == 1)
        #expect(fixture.poolRenewals == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A server's Retry-After holds all tasks of its origin, and no others")
    func sharedRetryAfter() async throws {
        let busy = try LiveServer { $0.number == 1 ? .respond(503, ["Retry-After: 60"]) : .respond(text: "ok") }
        defer { busy.stop() }
        let other = try LiveServer { _ in .respond(text: "ok") }
        defer { other.stop() }
        let fixture = try SessionFixture()
        let first = fixture.run(try TaskRequest(url: busy.url()))
        #expect(await fixture.wait { fixture.eventNames(of: first).contains("retryScheduled(http_5xx)") })
        let second = fixture.run(try TaskRequest(url: busy.url()))
        #expect(await fixture.wait { second.state.name == .waiting })
        #expect(busy.requests.count == 1)
        #expect(await fixture.run(try TaskRequest(url: other.url())).result().held.isEmpty)
        #expect(busy.requests.count == 1)
        first.cancel()
        second.cancel()
        #expect(await second.result().held[.backoff] != nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A request is never sent twice because its answer is slow")
    func noHedging() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.wait(milliseconds: 1200)] + LiveServerAnswer.respond(text: "late").steps)
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(server.requests.count == 1)
        #expect(server.accepted == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A suspended POST keeps its connection although the pause is over; a GET gives it back")
    func releaseConnection() async throws {
        let answer = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(answer)] + LiveServerAnswer.respond(text: "ok").steps)
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.pauseLimit = .milliseconds(20) })
        let post = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: .data([1])))
        let get = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { server.requests.count == 2 })
        post.suspend()
        get.suspend()
        #expect(await fixture.wait { fixture.eventNames(of: get).contains("attemptFailed(cancelled, free)") })
        #expect(!fixture.eventNames(of: post).contains { $0.hasPrefix("attemptFailed") })
        post.resume()
        get.resume()
        answer.open()
        #expect(await post.result().outcome == .success)
        #expect(await get.result().outcome == .success)
        #expect(server.requests.count { $0.method == "POST" } == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Suspensions nest on a running task: it goes on after as many resumes")
    func nested() async throws {
        let answer = Latch()
        let server = try LiveServer { request in
            LiveServerAnswer([.waitFor(answer)] + LiveServerAnswer.pattern(300_000, for: request).steps)
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { server.requests.count == 1 })
        for _ in 0..<100 { task.suspend() }
        for _ in 0..<99 { task.resume() }
        #expect(await fixture.wait { task.state == .suspended })
        answer.open()
        task.resume()
        #expect(await task.result().outcome == .success)
        #expect(task.body() == LiveServerAnswer.bytes(count: 300_000))
        #expect(fixture.eventNames(of: task).count { $0 == "suspended" } == 1)
        #expect(fixture.eventNames(of: task).count { $0 == "resumed" } == 2)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
