internal import HTTPTypes
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Requests that are found again in the traces of their servers.
@Suite(.timeLimit(.minutes(5)))
struct TraceTests {
    private static let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test(
        "A field traceparent is read as W3C Trace Context says",
        arguments: [
            (given, true), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true),
            // A later version may have more, and version 00 may not.
            ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
            ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
            ("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false),
            ("00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false), ("", false), ("---", false),
        ])
    func parse(text: String, isValid: Bool) throws {
        let trace = TraceContext(traceParent: text)
        #expect(trace?.trace.description == (isValid ? "0af7651916cd43dd8448eb211c80319c" : nil))
        #expect(trace?.parent.description == (isValid ? "b7ad6b7169203331" : nil))
        #expect(trace?.isSampled == (isValid ? !text.hasSuffix("-00") : nil))
    }

    /// The parts of the fields that a server has seen, one row for each request.
    private static func seen(_ server: LiveServer) -> [[Substring]] {
        server.requests.map { ($0.field("traceparent") ?? "").split(separator: "-") }
    }

    /// The traces of a task's events, and the spans of its attempts.
    private static func events(_ fixture: SessionFixture, _ task: TransferTask) -> (Set<TraceID?>, [String]) {
        let events = fixture.recorder.events.compactMap { event -> TaskEvent? in
            if case .task(let event) = event.payload, event.id == task.id { event } else { nil }
        }
        let spans = events.compactMap { event -> String? in
            switch event.kind {
            case .attemptFailed(let summary, _, _, isCharged: _), .attemptSucceeded(let summary):
                summary.span?.description ?? "-"
            default: nil
            }
        }
        return (Set(events.map(\.trace)), spans)
    }

    @Test("A trace is passed on: each attempt is a part of its own, and events have the ids")
    func passedOn() async throws {
        let server = try LiveServer { $0.number == 1 ? .respond(503) : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)) })
        var request = try TaskRequest(url: server.url())
        request.options.trace = TraceContext(traceParent: Self.given, state: "vendor=1,other=2")
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        let seen = Self.seen(server)
        #expect(seen.count == 2 && seen.allSatisfy { $0.count == 4 && $0[1] == "0af7651916cd43dd8448eb211c80319c" })
        #expect(Set(seen.map { $0[2] }).count == 2 && seen.allSatisfy { $0[2] != "b7ad6b7169203331" && $0[3] == "01" })
        #expect(server.requests.allSatisfy { $0.field("tracestate") == "vendor=1,other=2" })
        let (traces, spans) = Self.events(fixture, task)
        #expect(traces == [TraceID("0af7651916cd43dd8448eb211c80319c")])
        #expect(spans == seen.map { String($0[2]) })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A session that starts traces gives each task one of its own; by default a task has none")
    func started() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (tracing, plain) = (try SessionFixture(.with { $0.startsTraces = true }), try SessionFixture())
        var ids: Set<TraceID?> = []
        for _ in 0..<2 {
            let task = tracing.run(try TaskRequest(url: server.url()))
            #expect(await task.result().outcome == .success)
            ids.formUnion(Self.events(tracing, task).0)
        }
        #expect(ids.count == 2 && !ids.contains(nil))
        #expect(Set(Self.seen(server).map { String($0[1]) }) == Set(ids.compactMap { $0?.description }))
        let task = plain.run(try TaskRequest(url: server.url()))
        #expect(await task.result().outcome == .success)
        #expect(server.requests.last?.field("traceparent") == nil)
        #expect(Self.events(plain, task).0 == [nil])
        for fixture in [tracing, plain] { await fixture.session.invalidate(cancellingTasks: true) }
    }

    @Test(
        "A field traceparent of the request's own is sent unchanged, and its trace is the task's",
        arguments: [true, false])
    func ownField(startsTraces: Bool) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.startsTraces = startsTraces })
        let field = try HTTPField("traceparent", Self.given)
        let task = fixture.run(try TaskRequest(url: server.url(), headers: [field]))
        #expect(await task.result().outcome == .success)
        #expect(server.requests.first?.field("traceparent") == Self.given)
        #expect(Self.events(fixture, task).0 == [TraceID("0af7651916cd43dd8448eb211c80319c")])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Another origin is not shown the trace, unless redirects are free", arguments: RedirectPolicy.allCases)
    func redirect(_ policy: RedirectPolicy) async throws {
        let other = try LiveServer { _ in .respond(text: "there") }
        defer { other.stop() }
        let there = other.url()
        let server = try LiveServer {
            $0.path == "/" ? .respond(302, ["Location: /b"]) : .respond(302, ["Location: \(there)"])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { ($0.redirects, $0.startsTraces) = (policy, true) })
        _ = await fixture.run(try TaskRequest(url: server.url())).result()
        let own = Self.seen(server)
        #expect(own.count == 2 && own[0][1] == own[1][1] && own[0][2] != own[1][2])
        #expect(
            other.requests.map { $0.field("traceparent") != nil } == (policy == .sameOrigin ? [] : [policy == .free]))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
