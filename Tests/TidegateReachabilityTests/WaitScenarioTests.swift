internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// Waiting for conditions and following a path, on a real link.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct WaitScenarioTests {
    @Test("A wait ends once all conditions hold, a target among them that is not configured")
    func conditions() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.ip("link set p0 down")
        let ladder = LadderFixture(hosts, web: ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: .connect) })
        let wait = Task {
            try await ladder.diagnostics.wait(
                for: WaitConfiguration(
                    [.carrier(interface: "v0"), .host("10.0.0.1", 22)], stable: .milliseconds(300),
                    timeout: .seconds(60)))
        }
        let early = await ladder.fixture.status { $0.global.level == .none }
        #expect(early.global.level == .none)
        #expect(ladder.web.questions.isEmpty, "nothing is checked without a path")
        try hosts.there.ip("link set p0 up")
        try await wait.value
        #expect(ladder.web.questions.map(\.lastStage).first == .connect)
    }

    @Test("A wait reports the unmet condition as values, again only when it fails on another rung")
    func reports() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.ip("link set p0 down")
        let ladder = LadderFixture(hosts, web: ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: .connect) })
        let (reports, continuation) = AsyncStream.makeStream(of: UnmetCondition.self)
        let target = try Target("10.0.0.1:22")
        let wait = Task {
            let configuration = WaitConfiguration([.host(target, .tcp), .carrier(interface: "late0")])
            try await ladder.diagnostics.wait(for: configuration) { progress in
                if progress.hasNewRung, let unmet = progress.unmet { continuation.yield(unmet) }
            }
        }
        var seen: [UnmetCondition] = []
        // A check that has no result yet has no reason.
        for await unmet in reports where unmet.reason != nil {
            seen.append(unmet)
            switch seen.count {
            case 1: try hosts.there.ip("link set p0 up")
            case 2:
                try hosts.here.batch("link add late0 type veth peer name late1\nlink set late0 up\nlink set late1 up")
            default: break
            }
            if seen.count == 2 { break }
        }
        try await wait.value
        #expect(seen.map(\.rung) == [.carrier, .interface])
        #expect(seen.map(\.condition) == [.host(target, .tcp), .carrier(interface: "late0")])
        #expect(seen.map(\.reason) == [.noCarrier, .noInterface])
    }

    @Test("A wait without time checks every condition once; of several, any may be enough")
    func single() async throws {
        let ladder = LadderFixture(
            try VethPairFixture(), web: ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: .connect) })
        let host = try WaitCondition.host("10.0.0.1", 22)
        let absent = WaitCondition.carrier(interface: "absent0")
        func wait(_ conditions: [WaitCondition], isAnyEnough: Bool) async throws(WaitError) {
            try await ladder.diagnostics.wait(
                for: WaitConfiguration(conditions, isAnyEnough: isAnyEnough, stable: .seconds(60), timeout: .zero))
        }
        try await wait([host], isAnyEnough: false)
        try await wait([absent, host], isAnyEnough: true)
        #expect(ladder.web.questions.count == 2)
        let error = await #expect(throws: WaitError.self) { try await wait([host, absent], isAnyEnough: false) }
        guard case .timedOut(let unmet?)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(unmet.condition == absent && unmet.reason == .noInterface)
    }

    @Test("A URL is waited for until an address of its host answers with a status below 400")
    func url() async throws {
        let ladder = LadderFixture(
            try VethPairFixture(), names: ["api.test": [try address("10.0.0.1")]],
            web: ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: .response, status: 503) })
        let condition = try WaitCondition("http://api.test:8080/health")
        let once = await #expect(throws: WaitError.self) {
            try await ladder.diagnostics.wait(for: WaitConfiguration([condition], timeout: .zero))
        }
        #expect(
            once?.description
                == "timed out: http: http://api.test:8080/health: the server answered with status 503")
        let question = try #require(ladder.web.questions.first)
        #expect(question.lastStage == .body && question.url.text == "http://api.test:8080/health")
        #expect(question.address == (try address("10.0.0.1")))
        ladder.web.say { _ in HTTPCheck.Result(reached: .response, status: 302) }
        try await ladder.diagnostics.wait(for: WaitConfiguration([condition], timeout: .seconds(30)))
    }

    @Test("A name is waited for until it has an address, of one family if one is given")
    func name() async throws {
        let ladder = LadderFixture(try VethPairFixture(), names: ["db.test": [try address("10.0.0.1")]])
        func wait(_ text: String, _ family: AddressFamily? = nil) async throws {
            try await ladder.diagnostics.wait(
                for: WaitConfiguration([try WaitCondition(text)], family: family, timeout: .zero))
        }
        try await wait("dns:db.test")
        try await wait("dns:db.test", .ipv4)
        let missing = await #expect(throws: WaitError.self) { try await wait("dns:db.test", .ipv6) }
        #expect(missing?.description == "timed out: dns: db.test: no v6 address")
        let unknown = await #expect(throws: WaitError.self) { try await wait("dns:nope.test") }
        #expect(unknown?.description == "timed out: dns: nope.test: the name does not exist")
    }

    @Test("While conditions hold but not for long enough, a wait says for how long they have")
    func held() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        var held: [Duration] = []
        try await ladder.diagnostics.wait(
            for: WaitConfiguration([.carrier(interface: "v0")], stable: .milliseconds(700), timeout: .seconds(30))
        ) { progress in
            if progress.unmet == nil { held.append(progress.held) }
        }
        #expect(held.first == .zero && held == held.sorted(), "\(held)")
        #expect(held.allSatisfy { $0 < .milliseconds(700) })
    }

    @Test("A wait that is over names the condition and the rung that it fails on")
    func timeout() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.ip("link set p0 down")
        let ladder = LadderFixture(hosts)
        let error = await #expect(throws: WaitError.self) {
            try await ladder.diagnostics.wait(
                for: WaitConfiguration(
                    [.route(family: nil), .carrier(interface: "v0")], timeout: .milliseconds(300)))
        }
        guard case .timedOut(let unmet?)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(unmet.condition == .route(family: nil) && unmet.rung == .carrier && unmet.reason == .noCarrier)
        #expect(unmet.description == "carrier: v0 has no carrier")
    }

    @Test("A wait ends with its Swift task, and with its monitor")
    func ends() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        let wait = Task { () -> WaitError? in
            do throws(WaitError) {
                try await ladder.diagnostics.wait(for: WaitConfiguration([.carrier(interface: "absent0")]))
                return nil
            } catch {
                return error
            }
        }
        wait.cancel()
        #expect(await wait.value == .cancelled)
        ladder.fixture.monitor.stop()
        await #expect(throws: WaitError.self) {
            try await ladder.diagnostics.wait(for: WaitConfiguration([.carrier(interface: "absent0")]))
        }
    }

    @Test("A path is followed from its present state through a loss and a gain")
    func paths() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.status { $0.global.level == .routed }
        var levels: [ReachabilityLevel] = []
        for await path in fixture.monitor.paths(to: try Target("198.51.100.2")) {
            if levels.last != path.verdict.level { levels.append(path.verdict.level) }
            switch levels.count {
            case 1: try hosts.there.ip("link set p0 down")
            case 2: try hosts.there.ip("link set p0 up")
            default: break
            }
            if levels.count == 3 { break }
        }
        #expect(levels == [.routed, .none, .routed])
    }
}
