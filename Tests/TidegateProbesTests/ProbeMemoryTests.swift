import Synchronization
import Testing
import TidegateCEL
import TidegateCore
import TidegateTestKit

@testable import TidegateProbes

/// The bodies that probes examine share one budget.
@Suite(.timeLimit(.minutes(5)))
struct ProbeMemoryTests {
    private static func examining(_ change: (inout HTTPProbeOptions) -> Void = { _ in }) throws -> HTTPProbeOptions {
        let pattern = try RegularExpression("end$")
        return .with {
            $0.failsIfBodyDoesNotMatch = [pattern]
            change(&$0)
        }
    }

    // In chunks, so that its length is not known; the last one comes once the latch is open.
    private static func body(_ bytes: Int, end latch: Latch? = nil) -> LiveServerAnswer {
        let start = LiveServerAnswer.chunked([String(repeating: "x", count: bytes)], isWhole: false)
        let end = LiveServerAnswer.Step.send(Array("3\r\nend\r\n0\r\n\r\n".utf8))
        guard let latch else { return start.then(end) }
        return start.then(.waitFor(latch), end)
    }

    @Test("Many bodies at once never hold more than the budget, and all probes succeed")
    func together() async throws {
        let server = try LiveServer { _ in Self.body(700_000) }
        defer { server.stop() }
        let fixture = ProbeFixture(try Self.examining(), timeout: .seconds(120), bodyBudget: 2 << 20)
        let budget = fixture.runner.bodies
        let mostHeld = Mutex(0)
        let watch = Task {
            while !Task.isCancelled {
                let held = budget.held
                mostHeld.withLock { $0 = max($0, held) }
                await Task.yield()
            }
        }
        let successes = try await withThrowingTaskGroup { group in
            for _ in 0..<40 { group.addTask { try await fixture.probe(server.url()).value("probe_success") } }
            return try await group.reduce(into: [Double?]()) { $0.append($1) }
        }
        watch.cancel()
        await watch.value
        #expect(successes == [Double?](repeating: 1, count: 40))
        #expect((700_000...budget.limit).contains(mostHeld.withLock { $0 }))
        #expect(budget.held == 0)
    }

    @Test("A probe that finds no memory waits until its timeout, and then says so; another one gets what is given back")
    func timeout() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            request.path == "/slow" ? Self.body(10, end: latch) : Self.body(10)
        }
        defer { server.stop() }
        let fixture = ProbeFixture(try Self.examining(), timeout: .seconds(60), bodyBudget: 2 << 20)
        async let slow = fixture.probe(server.url("/slow"))
        // It may need all there is.
        while fixture.runner.bodies.held == 0 { await Task.yield() }
        let failed = try await fixture.runner.probe(
            ProbeQuestion(module: "m", target: server.url(), hostname: nil, scrapeTimeout: "1.5"))
        #expect(failed.failure?.reason == "no_memory" && failed.failure?.party == .mine)
        #expect(
            failed.failure?.text == "other probes' bodies took the 2.0 MiB of probe_body_budget until the timeout")
        #expect(failed.value("probe_failure_info", "no_memory", "mine") == 1)
        #expect(failed.value("probe_http_status_code") == 200)
        let cancelled = Task { try await fixture.probe(server.url()) }
        while server.requests.count < 3 { await Task.yield() }
        cancelled.cancel()
        #expect(try await cancelled.value.failure != nil)
        latch.open()
        #expect(try await slow.value("probe_success") == 1)
        #expect(fixture.runner.bodies.held == 0)
        #expect(try await fixture.probe(server.url()).value("probe_success") == 1)
        #expect(fixture.runner.bodies.held == 0)
    }

    @Test("A body larger than the budget fails at once: by its length before it is read, in chunks where it exceeds it")
    func tooLarge() async throws {
        let server = try LiveServer { request in
            request.path == "/length"
                ? LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 5000000"])), .hang])
                : LiveServerAnswer([
                    .send(LiveServerAnswer.chunked([], isWhole: false).head), .flood(Array("4\r\nflow\r\n".utf8)),
                ])
        }
        defer { server.stop() }
        let fixture = ProbeFixture(try Self.examining(), timeout: .seconds(60), bodyBudget: 1 << 20)
        for path in ["/length", "/chunks"] {
            let report = try await fixture.probe(server.url(path))
            #expect(report.failure?.reason == "no_memory" && report.failure?.party == .mine)
            #expect(report.failure?.text == "the body is larger than probe_body_budget, which is 1.0 MiB")
            #expect(report.duration < .seconds(50))
        }
        let limited = ProbeFixture(
            try Self.examining { $0.maxBodyBytes = 1000 }, timeout: .seconds(60), bodyBudget: 1 << 20)
        #expect(try await limited.probe(server.url("/length")).failure?.reason == "too_large")
        #expect(fixture.runner.bodies.held == 0 && limited.runner.bodies.held == 0)
    }

    @Test("The body of a redirect is given back before the next one needs its memory")
    func redirect() async throws {
        let server = try LiveServer { request in
            request.path == "/end"
                ? Self.body(700_000) : .respond(302, ["Location: /end"], text: String(repeating: "x", count: 700_000))
        }
        defer { server.stop() }
        let fixture = ProbeFixture(try Self.examining(), timeout: .seconds(20), bodyBudget: 1 << 20)
        #expect(try await fixture.probe(server.url()).value("probe_success") == 1)
        #expect(fixture.runner.bodies.held == 0)
    }

    @Test("A module that examines no body needs no memory for one")
    func discarded() async throws {
        let server = try LiveServer { _ in Self.body(200_000) }
        defer { server.stop() }
        let fixture = ProbeFixture(timeout: .seconds(60), bodyBudget: 1)
        let report = try await fixture.probe(server.url())
        #expect(report.value("probe_success") == 1)
        #expect(report.value("probe_http_uncompressed_body_length") == 200_003)
    }

    @Test("Documents are decoded one at a time; one whose turn does not come before the timeout fails with that reason")
    func documents() async throws {
        let server = try LiveServer { _ in .respond(text: "{}") }
        defer { server.stop() }
        let expression = try CELExpression("body == {}", variable: "body")
        let fixture = ProbeFixture(.with { $0.failsIfJSONDoesNotMatch = expression }, timeout: .seconds(60))
        let turn = fixture.runner.documents.open(most: 1)
        #expect(fixture.runner.documents.take(1, for: turn) {})
        let failed = try await fixture.runner.probe(
            ProbeQuestion(module: "m", target: server.url(), hostname: nil, scrapeTimeout: "1.5"))
        #expect(failed.failure?.reason == "no_memory")
        #expect(
            failed.failure?.text == "the documents of other probes, decoded one at a time, took until the timeout")
        fixture.runner.documents.close(turn)
        #expect(try await fixture.probe(server.url()).value("probe_success") == 1)
        #expect(fixture.runner.documents.held == 0)
    }

    @Test("A document has at most 250,000 values and names", arguments: [(249_999, true), (250_000, false)])
    func nodes(_ count: Int, isGood: Bool) async throws {
        let text = "[" + [String](repeating: "1", count: count).joined(separator: ",") + "]"
        let server = try LiveServer { _ in .respond(text: text) }
        defer { server.stop() }
        let expression = try CELExpression("body[0] == 1.0", variable: "body")
        let report = try await ProbeFixture(
            .with { $0.failsIfJSONDoesNotMatch = expression }, timeout: .seconds(120)
        ).probe(server.url())
        #expect(
            report.failure?.text
                == (isGood ? nil : "the body is too large: more than 250000 values and names of members at byte 499999")
        )
        #expect(report.failure?.reason == (isGood ? nil : "body"))
    }
}

extension LiveServerAnswer {
    /// The bytes of the first step.
    fileprivate var head: [UInt8] {
        if case .send(let bytes)? = self.steps.first { bytes } else { [] }
    }
}
