import Testing
@testable import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// What a failed run asks of the rungs below.
@Suite(.timeLimit(.minutes(5)))
struct ScheduledProbeCauseTests {
    private static let gateway = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "eth0", lastConfirmed: nil))

    // An answer that breaks off says nothing of whose failure it was.
    private static func server() throws -> LiveServer {
        try LiveServer { request in
            switch request.path {
            case "/cut":
                LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 9"]) + [1]), .hang])
            case "/ok": .respond(text: "ok")
            default: .respond(503)
            }
        }
    }

    private static func run(_ fixture: ProbeFixture, _ url: String) async throws -> ProbeReport {
        let probe = ScheduledProbe(name: "api", module: "m", target: url, every: .seconds(60))
        return try #require(await fixture.runner.run(probe))
    }

    @Test("A scheduled run that fails asks exactly once whose failure it was, and says what it was told")
    func once() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = ProbeFixture(timeout: .seconds(3), cause: Self.gateway)
        let doubt = ProbeDoubt(
            subject: .target(try Target("127.0.0.1:\(server.port)")), address: ProbeFixture.loopback, isScheduled: true)
        for count in 1...2 {
            let report = try await Self.run(fixture, server.url("/cut"))
            #expect(fixture.doubts.all == Array(repeating: doubt, count: count))
            #expect(report.failure?.reason == "timed_out" && report.failure?.party == .gateway)
            #expect(report.failure?.text == Self.gateway.description && report.isOutage)
            #expect(report.value("probe_failure_info", "timed_out", "gateway") == 1)
        }
    }

    @Test("Without an explanation it stays unknown, after one question")
    func unknown() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = ProbeFixture(timeout: .seconds(3))
        let report = try await Self.run(fixture, server.url("/cut"))
        #expect(fixture.doubts.all.count == 1)
        #expect(report.failure?.reason == "timed_out" && report.failure?.party == .unknown && !report.isOutage)
    }

    @Test("A name that gives no address is a question about the internet")
    func unresolved() async throws {
        let fixture = ProbeFixture(cause: Self.gateway)
        fixture.resolver.say(.failure(.timedOut), about: "gone.test")
        let report = try await Self.run(fixture, "http://gone.test/")
        #expect(fixture.doubts.all == [ProbeDoubt(subject: .internet, address: nil, isScheduled: true)])
        #expect(report.failure?.reason == "timed_out" && report.failure?.party == .gateway)
    }

    @Test("Nothing is asked after a success, after an answer, and without a path")
    func notAsked() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = ProbeFixture(cause: Self.gateway)
        #expect(try await Self.run(fixture, server.url("/ok")).failure == nil)
        #expect(try await Self.run(fixture, server.url("/503")).failure?.party == .theirs)
        #expect(fixture.doubts.all.isEmpty)
        let cut = ProbeFixture(path: { _ in Verdict(level: .none, reason: .noCarrier) }, cause: Self.gateway)
        #expect(try await Self.run(cut, server.url("/ok")).isGated && cut.doubts.all.isEmpty)
    }

    @Test("A probe with a waiting client asks as often, and says that it is not scheduled")
    func question() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = ProbeFixture(timeout: .seconds(3), cause: Self.gateway)
        let report = try await fixture.probe(server.url("/cut"))
        #expect(fixture.doubts.all.map(\.isScheduled) == [false] && report.failure?.party == .gateway)
    }
}
