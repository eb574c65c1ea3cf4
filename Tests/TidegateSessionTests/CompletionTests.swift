import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@Suite(.timeLimit(.minutes(5)))
struct CompletionTests {
    @Test("The completion handler is called once, with the body at hand and before the end is reported")
    func once() async throws {
        let server = try LiveServer { _ in .respond(200, text: "all of it") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let calls = Mutex<[Call]>([])
        let recorder = fixture.recorder
        let task = fixture.session.makeTask(try TaskRequest(url: server.url("/"))) { task, result in
            let call = Call(
                body: String(decoding: task.body(), as: UTF8.self), outcome: result.outcome,
                wasPublished: recorder.taskChanges(of: task.id).contains { $0.eventName.hasPrefix("completed") })
            calls.withLock { $0.append(call) }
        }
        task.resume()
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(calls.withLock { $0 } == [Call(body: "all of it", outcome: .success, wasPublished: false)])
        #expect(fixture.eventNames(of: task).last == "completed(success)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A cancelled task calls its handler, and so does one that is born when the session is over")
    func cancelled() async throws {
        let fixture = try SessionFixture()
        let outcomes = Mutex<[TaskOutcome]>([])
        let note: @Sendable (TransferTask, TaskResult) -> Void = { _, result in
            outcomes.withLock { $0.append(result.outcome) }
        }
        let request = try TaskRequest(url: "http://never.test/")
        let task = fixture.session.makeTask(request, onCompletion: note)
        task.cancel()
        task.cancel()
        _ = await task.result()
        #expect(outcomes.withLock { $0 } == [.cancelled])
        await fixture.session.invalidate(cancellingTasks: true)
        _ = fixture.session.makeTask(request, onCompletion: note)
        #expect(outcomes.withLock { $0 } == [.cancelled, .cancelled])
    }

    @Test("Handlers that start the next task keep so many under way, and none is lost")
    func chain() async throws {
        let server = try LiveServer { _ in .respond(200, text: "small") }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.maxConnectionsPerHost = 8 })
        let chain = Chain(try TaskRequest(url: server.url("/")), count: 400, on: fixture.session)
        for _ in 0..<8 { chain.start() }
        #expect(await fixture.wait { chain.finished == 400 })
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(chain.finished == 400)
        // Each of the eight went on until nothing was left, and ended there.
        #expect(chain.declined == 8)
        #expect(fixture.recorder.events.count { $0.isCompletion } == 400)
    }

    private struct Call: Equatable {
        let body: String
        let outcome: TaskOutcome
        let wasPublished: Bool
    }
}

/// So many requests one after the other, each started by the end of another one.
private final class Chain: Sendable {
    private let request: TaskRequest
    private let session: Session
    private let left: Mutex<(unstarted: Int, finished: Int, declined: Int)>

    init(_ request: TaskRequest, count: Int, on session: Session) {
        self.request = request
        self.session = session
        self.left = Mutex((count, 0, 0))
    }

    var finished: Int { self.left.withLock { $0.finished } }

    /// How often nothing was left to be started.
    var declined: Int { self.left.withLock { $0.declined } }

    func start() {
        let isNeeded = self.left.withLock { left in
            if left.unstarted == 0 { left.declined += 1 } else { left.unstarted -= 1 }
            return left.declined == 0
        }
        if isNeeded {
            self.session.makeTask(self.request) { _, _ in
                self.left.withLock { $0.finished += 1 }
                self.start()
            }.resume()
        }
    }
}

extension Event {
    fileprivate var isCompletion: Bool {
        if case .task(let event) = self.payload, case .completed = event.kind { true } else { false }
    }
}
