import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSessionTestKit

@testable import TidegateSession

/// Origins that fail are left alone for a while.
@Suite(.timeLimit(.minutes(5)))
struct CircuitTests {
    private static func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .seconds(seconds)
    }

    @Test(
        "Five failures in a row open a circuit for 30 s, one task goes first then, and its failure opens it for longer")
    func rule() {
        var circuit = Circuit()
        for task in 1...4 {
            #expect(circuit.failed(UInt64(task), .init(), at: Self.at(0), spread: 0) == nil)
            #expect(circuit.pass(9, at: Self.at(0)) == .through)
        }
        #expect(circuit.failed(5, .init(), at: Self.at(0), spread: 0) == .seconds(30))
        #expect(circuit.pass(6, at: Self.at(29)) == .wait(until: Self.at(30)))
        #expect(circuit.failed(1, .init(), at: Self.at(29), spread: 0) == nil)
        #expect(circuit.pass(6, at: Self.at(30)) == .asProbe)
        #expect(circuit.pass(7, at: Self.at(30)) == .wait(until: nil))
        #expect(circuit.pass(6, at: Self.at(30)) == .asProbe)
        #expect(circuit.failed(7, .init(), at: Self.at(31), spread: 0) == nil)
        #expect(circuit.failed(6, .init(), at: Self.at(31), spread: 0) == .seconds(60))
        #expect(circuit.pass(7, at: Self.at(91)) == .asProbe)
        #expect(circuit.succeeded() == true)
        #expect(circuit.isFresh)
        #expect(circuit.pass(8, at: Self.at(91)) == .through)
    }

    @Test("A success in between starts the counting again, and the pause is capped and spread upward")
    func bounds() {
        var circuit = Circuit()
        for _ in 0..<10 {
            for task in 1...4 { _ = circuit.failed(UInt64(task), .init(), at: Self.at(0), spread: 0) }
            #expect(circuit.succeeded() == false)
        }
        var now = 0.0
        var pauses: [Duration] = []
        for task in 1...5 {
            if let pause = circuit.failed(UInt64(task), .init(), at: Self.at(0), spread: 1) { pauses.append(pause) }
        }
        for _ in 0..<12 {
            now += 1000
            #expect(circuit.pass(1, at: Self.at(now)) == .asProbe)
            if let pause = circuit.failed(1, .init(), at: Self.at(now), spread: 1) { pauses.append(pause) }
        }
        #expect(pauses.first == .seconds(36))
        #expect(pauses.last == .seconds(360))
    }

    @Test("A probing task that leaves without a result hands its turn on")
    func handOver() {
        var circuit = Circuit()
        for task in 1...5 { _ = circuit.failed(UInt64(task), .init(), at: Self.at(0), spread: 0) }
        #expect(circuit.pass(6, at: Self.at(40)) == .asProbe)
        #expect(circuit.probeLeft(7, at: Self.at(41)) == false)
        #expect(circuit.probeLeft(6, at: Self.at(41)) == true)
        #expect(circuit.pass(7, at: Self.at(41)) == .asProbe)
    }

    // MARK: - Tasks

    private static func fixture(
        pause: Duration = .seconds(2), time: any TimeSource = SystemClock(),
        diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil }
    ) throws -> SessionFixture {
        try SessionFixture(
            .with {
                $0.retry = RetryPolicy(attempts: 1)
                $0.circuit.pause = pause
                $0.circuit.cap = .seconds(10)
            }, time: time,
            diagnosis: diagnosis)
    }

    private static func circuitEvents(_ fixture: SessionFixture) -> [String] {
        fixture.recorder.events.compactMap { event in
            switch event.payload {
            case .session(.circuitOpened): "opened"
            case .session(.circuitClosed): "closed"
            default: nil
            }
        }
    }

    @Test("Tasks wait while their origin is left alone; one goes first, and its success lets the others go")
    func recovery() async throws {
        let isWell = Latch()
        let server = try LiveServer { _ in isWell.isOpen ? .respond(text: "ok") : .respond(503) }
        defer { server.stop() }
        let fixture = try Self.fixture()
        for _ in 0..<5 { #expect(await fixture.run(try TaskRequest(url: server.url())).result().status == 503) }
        #expect(Self.circuitEvents(fixture) == ["opened"])
        let tasks = try (0..<20).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        #expect(await fixture.wait { fixture.session.statistics().held[.circuit] == 20 })
        let detail = if case .waiting(.circuit, let text) = tasks[0].state { text ?? "" } else { "" }
        #expect(detail.wholeMatch(of: /paused until \d\d:\d\d:\d\d UTC after repeated failures/) != nil, "\(detail)")
        #expect(server.requests.count == 5)
        isWell.open()
        for task in tasks {
            let result = await task.result()
            #expect(result.outcome == .success)
            #expect(result.held[.circuit] != nil)
        }
        #expect(Self.circuitEvents(fixture) == ["opened", "closed"])
        #expect(server.requests.count == 25)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "Silence opens a circuit, unless a diagnosis says that nothing beyond the gateway to the server answers",
        arguments: [
            (Witness.Reach.beyond(nil), false, ["opened"]), (.gateway, false, []), (.gateway, true, ["opened"]),
        ])
    func outage(_ reach: Witness.Reach, isOnLink: Bool, _ events: [String]) async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let gateway = IPAddress(ipv4: 0x0A00_0001)
        let found = SilenceEvidence(
            silent: .target, gateway: .answers(gateway), witnesses: [Witness(.hopWalk, reach)])
        let fixture = try Self.fixture { _ in found }
        var verdict = ScriptedPathSource.routed()
        verdict.path?.gateway = isOnLink ? nil : gateway
        fixture.paths.say(verdict)
        for _ in 0..<5 {
            var request = try TaskRequest(url: server.url())
            request.options.attemptTimeout = .milliseconds(50)
            #expect(await fixture.run(request).result().failure == .timedOut)
        }
        #expect(Self.circuitEvents(fixture) == events)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("While an origin goes on failing it is asked by one task at a time")
    func oneProbe() async throws {
        let server = try LiveServer { _ in .respond(503) }
        defer { server.stop() }
        let time = ManualTime()
        let fixture = try Self.fixture(time: time)
        for _ in 0..<5 { _ = await fixture.run(try TaskRequest(url: server.url())).result() }
        let tasks = try (0..<10).map { _ in fixture.run(try TaskRequest(url: server.url())) }
        #expect(await fixture.wait { fixture.session.statistics().held[.circuit] == 10 })
        for probes in 1...2 {
            // Longer than any pause; the next pause begins with the failure of this probe.
            time.advance(by: .seconds(20))
            #expect(await fixture.wait { Self.circuitEvents(fixture).count == 1 + probes })
            #expect(await fixture.wait { tasks.count { $0.state.name == .completed } == probes })
            #expect(await fixture.wait { fixture.session.statistics().held[.circuit] == 10 - probes })
            #expect(server.requests.count == 5 + probes)
        }
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(tasks.allSatisfy { fixture.eventNames(of: $0).filter { $0.hasPrefix("completed") }.count == 1 })
    }

    @Test("A task that is to go first and is suspended or cancelled hands its turn to the next one")
    func probeLeaves() async throws {
        let isWell = Latch()
        let server = try LiveServer { request in
            if request.path == "/hang" { return LiveServerAnswer([.hang]) }
            return isWell.isOpen ? .respond(text: "ok") : .respond(503)
        }
        defer { server.stop() }
        let fixture = try Self.fixture(pause: .milliseconds(100))
        for _ in 0..<5 { _ = await fixture.run(try TaskRequest(url: server.url())).result() }
        isWell.open()
        let first = fixture.run(try TaskRequest(url: server.url("/hang")))
        let second = fixture.run(try TaskRequest(url: server.url()))
        let third = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { server.requests.last?.path == "/hang" })
        #expect(await fixture.wait { second.state.name == .waiting && third.state.name == .waiting })
        first.cancel()
        #expect(await second.result().outcome == .success)
        #expect(await third.result().outcome == .success)
        let waiting = fixture.run(try TaskRequest(url: server.url()))
        #expect(await waiting.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A suspended task does not keep others from going first")
    func suspendedFirst() async throws {
        let isWell = Latch()
        let server = try LiveServer { _ in isWell.isOpen ? .respond(text: "ok") : .respond(503) }
        defer { server.stop() }
        let fixture = try Self.fixture(pause: .seconds(2))
        for _ in 0..<5 { _ = await fixture.run(try TaskRequest(url: server.url())).result() }
        let first = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { first.state.name == .waiting })
        let second = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { second.state.name == .waiting })
        first.suspend()
        isWell.open()
        #expect(await second.result().outcome == .success)
        #expect(first.state == .suspended)
        first.resume()
        #expect(await first.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Losing the path never counts, nor do names and refusals by status")
    func pathDoesNotCount() async throws {
        let server = try LiveServer { request in
            request.path == "/404" ? .respond(404) : LiveServerAnswer([.hang])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        for _ in 0..<8 {
            let task = fixture.run(try TaskRequest(url: server.url()))
            let before = server.requests.count
            #expect(await fixture.wait { server.requests.count > before || task.state.name == .running })
            #expect(await fixture.wait { task.currentProgress.attempt > 0 })
            fixture.paths.say(ScriptedPathSource.lost())
            fixture.paths.say(ScriptedPathSource.routed(over: "eth9", index: 9))
            task.cancel()
            _ = await task.result()
            _ = await fixture.run(try TaskRequest(url: server.url("/404"))).result()
            _ = await fixture.run(try TaskRequest(url: "http://no.test/")).result()
            fixture.paths.say(ScriptedPathSource.routed())
        }
        #expect(Self.circuitEvents(fixture).isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
