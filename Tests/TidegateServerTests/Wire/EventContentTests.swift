import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateTestKit

@testable import TidegateServer

/// What a session publishes about its requests, and what it leaves out.
@Suite struct EventContentTests {
    static let redactions: [(URLRedaction, String)] = [
        (URLRedaction(), "http://127.0.0.1:PORT/x"),
        (URLRedaction(query: false), "http://127.0.0.1:PORT/x?token=1#part"),
        (URLRedaction(userinfo: false), "http://u:secret@127.0.0.1:PORT/x"),
        (URLRedaction(query: false, userinfo: false), "http://u:secret@127.0.0.1:PORT/x?token=1#part"),
    ]

    @Test(
        "Events and lists have URLs without user information and query, unless configured to keep them",
        arguments: Self.redactions)
    func urls(_ redaction: URLRedaction, _ shown: String) async throws {
        let server = try LiveServer { _ in .respond(text: "yes") }
        defer { server.stop() }
        let (bus, events) = (EventBus(time: SystemClock()), RecordingSink())
        bus.attach(events)
        var configuration = SessionConfiguration()
        configuration.redaction = redaction
        let session = try Self.session(configuration, bus)
        let url = "http://u:secret@127.0.0.1:\(server.port)/x?token=1#part"
        let wanted = shown.replacing("PORT", with: "\(server.port)")
        let task = session.makeTask(try TaskRequest(url: url))
        task.resume()
        // The caller has given the URL, and gets it back in the result.
        #expect(await task.result().url == url)
        #expect(task.info.url == wanted)
        #expect(events.taskChanges().compactMap(\.url) == [wanted, wanted])
        // The endpoint leaves out only what its own configuration says.
        let configured = events.events.map { $0.json(redaction: redaction).description }.joined()
        #expect(
            configured.contains("secret") == !redaction.userinfo && configured.contains("token") == !redaction.query)
        let safe = events.events.map { $0.json().description }.joined()
        #expect(!safe.contains("secret") && !safe.contains("token"))
        await session.invalidate(cancellingTasks: true)
    }

    @Test("An attempt names its host, also after a redirect, and the host's budget is in the statistics")
    func hosts() async throws {
        let server = try LiveServer { request in
            let port = request.field("Host")?.split(separator: ":").last ?? ""
            return request.path == "/" ? .respond(302, ["Location: http://localhost:\(port)/end"]) : .respond(503)
        }
        defer { server.stop() }
        let (bus, events) = (EventBus(time: SystemClock()), RecordingSink())
        bus.attach(events)
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(attempts: 3, base: .milliseconds(1), cap: .milliseconds(2))
        configuration.budget = RetryBudgetPolicy(tokens: 100, retryCost: 10, refillPerSecond: 0)
        configuration.reportsRetryTokens = true
        let session = try Self.session(configuration, bus)
        let task = session.makeTask(try TaskRequest(url: server.url()))
        task.resume()
        #expect(await task.result().failure != nil)
        // Every further attempt begins with the first URL again.
        let each = ["127.0.0.1", "localhost"]
        #expect(events.taskChanges().compactMap(\.host) == each + each + each)
        // Two retries at ten tokens each.
        let isReported = await eventually { session.statistics().retryTokens == ["localhost": 80] }
        #expect(isReported, "\(session.statistics().retryTokens)")
        await session.invalidate(cancellingTasks: true)
    }

    @Test("Retry budgets are left out by default")
    func noBudgets() async throws {
        let server = try LiveServer { $0.number == 1 ? .respond(503) : .respond(text: "yes") }
        defer { server.stop() }
        // A budget that was used, so that there would be something to report.
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(attempts: 2, base: .milliseconds(1), cap: .milliseconds(2))
        configuration.budget = RetryBudgetPolicy(tokens: 100, retryCost: 10, refillPerSecond: 0)
        let session = try Self.session(configuration, EventBus(time: SystemClock()))
        let task = session.makeTask(try TaskRequest(url: server.url()))
        task.resume()
        #expect(await task.result().attempts == 2)
        // The statistics are those after the response.
        #expect(await eventually { session.statistics().idleConnections > 0 })
        #expect(session.statistics().retryTokens.isEmpty)
        await session.invalidate(cancellingTasks: true)
    }

    private static func session(_ configuration: SessionConfiguration, _ bus: EventBus) throws -> Session {
        let local = [IPAddress("127.0.0.1")].compactMap(\.self)
        return try Session(
            configuration, bus: bus, paths: ScriptedPathSource(), resolver: ScriptedResolver(["localhost": local]),
            time: SystemClock(), generator: SystemRandomNumberGenerator())
    }
}

extension TaskEvent.Kind {
    fileprivate var url: String? {
        switch self {
        case .created(_, let url): url
        case .completed(let result): result.url
        default: nil
        }
    }

    fileprivate var host: String? {
        switch self {
        case .attemptSucceeded(let summary), .attemptFailed(let summary, _, _, _): summary.host
        default: nil
        }
    }
}
