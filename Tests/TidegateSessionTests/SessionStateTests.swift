import Synchronization
@testable import TidegateCore
import TidegateSessionTestKit
@testable import TidegateTransfer
import Testing

@testable import TidegateSession

/// What every rule of the session makes of its inputs, by the effects alone: no thread, no wire, no clock.
@Suite
struct SessionStateTests {
    /// Something that happens to the first task, or to the session.
    enum Step: Sendable {
        case make(String, @Sendable (inout TaskRequest) -> Void = { _ in })
        case resume, suspend, cancel
        case resumeTask(Int)
        case verdict(Verdict)
        /// The attempt of this number has a connection.
        case wire(Int, reused: Bool = false)
        case head(Int, String)
        case answered(Int, String)
        case failed(Int, TaskFailure, isOnWire: Bool = true)
        case notStarted(Int), notPaused(Int)
        case resolved(Int, Result<[IPAddress], ResolveFailure>)
        /// The first task's clocks are looked at after a while.
        case after(Duration)
        case disk(DiskEvent)
        case journal(JournalWriter.Write, JournalIssue? = nil)
        case hook(HookAnswer)
        case batchEnded, holdAll, reset, drain
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        var configuration = SessionConfiguration()
        var hooks: SessionHooks?
        let given: [Step]
        let when: Step
        let then: [String]

        var testDescription: String { self.rule }
    }

    private static let address = "192.0.2.1"
    private static let get = Step.make("http://192.0.2.1/a")

    @Test("Inputs lead to these effects, in this order", arguments: gates + paths + attempts + answers + ends)
    func rule(_ row: Row) throws {
        let fixture = try SessionStateFixture(row.configuration, hooks: row.hooks)
        for step in row.given { _ = try self.carryOut(step, fixture) }
        let (events, effects) = try self.carryOut(row.when, fixture)
        #expect(events == row.then.filter { $0.contains(": ") })
        #expect(effects == row.then.filter { !$0.contains(": ") })
    }

    @Test("Who waits for a suspension is called once it is carried out and shown")
    func callbacks() throws {
        let fixture = try SessionStateFixture()
        fixture.make(try TaskRequest(url: "http://192.0.2.1/a"))
        _ = fixture.handle(.command(.task(fixture.task(1), .resume)))
        let suspend = SessionCommand.setSuspensions(fixture.task(1), { $0 + 1 }, done: { _ in })
        #expect(fixture.handle(.command(suspend), showsTasks: true).effects == ["pause 1.1", "show 1", "app"])
    }

    @Test("A task that waits for another one begins after the end of that one is published")
    func dependents() throws {
        let fixture = try SessionStateFixture()
        let life = TaskLifetime(
            lived: .zero, wall: WallTime(microseconds: 0), monotonic: MonotonicTime(nanoseconds: 0), boot: "")
        let request = try TaskRequest(url: "http://192.0.2.1/a")
        var accepted: [JournaledTask] = []
        for byte in 1...2 {
            var task = JournaledTask(
                id: RandomSource(SeededGenerator(seed: UInt64(byte))).taskID(at: WallTime(microseconds: 1)),
                accepted: WallTime(microseconds: 0), description: try TaskDescription(request, key: nil),
                suspensions: 0, life: life)
            task.predecessor = accepted.last?.id
            fixture.make(request, accepted: task)
            accepted.append(task)
        }
        _ = fixture.handle(.command(.adopt(fixture.task(1))))
        #expect(fixture.handle(.command(.adopt(fixture.task(2)))).events == ["2: held(schedule)", "2: resumed"])
        let (events, effects) = try self.carryOut(.answered(1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"), fixture)
        #expect(events == ["1: progress", "1: attemptSucceeded"])
        #expect(effects == ["end 1 (success) releases [2]"])
        #expect(fixture.handle(.released([2])).effects == ["launch 2.1 GET http://192.0.2.1/a"])
    }

    @Test("A verdict evaluates a gate once, however many tasks wait at it or use its path")
    func oneEvaluation() throws {
        let paths = CountingPaths()
        let fixture = try SessionStateFixture(paths: paths)
        for number in 1...4 {
            var request = try TaskRequest(url: "http://192.0.2.1/a")
            if number > 1 { request.options.gate = GatePolicy(require: [.online]) }
            fixture.make(request)
            _ = fixture.handle(.command(.task(fixture.task(number), .resume)))
        }
        paths.evaluations.store(0, ordering: .relaxed)
        _ = try self.carryOut(.verdict(ScriptedPathSource.routed()), fixture)
        #expect(paths.evaluations.load(ordering: .relaxed) == 1)
    }

    /// Counts the questions about a family, which a gate for `online` asks each time that it is evaluated.
    private final class CountingPaths: PathSource {
        let evaluations = Atomic<Int>(0)
        private let paths = ScriptedPathSource()

        func current(_ target: Target) -> TargetVerdict { self.paths.current(target) }
        func holdsAddress(_ address: IPAddress) -> Bool { true }

        func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
            self.paths.watch(target, sink: sink)
        }

        func family(_ family: AddressFamily) -> Verdict {
            self.evaluations.add(1, ordering: .relaxed)
            return self.paths.family(family)
        }
    }

    private func carryOut(_ step: Step, _ fixture: SessionStateFixture) throws -> (
        events: [String], effects: [String]
    ) {
        switch step {
        case .make(let url, let change):
            var request = try TaskRequest(url: url)
            change(&request)
            if case .data = request.body { request = try request.posting() }
            fixture.make(request)
            return ([], [])
        case .resume: return fixture.handle(.command(.task(fixture.task(1), .resume)))
        case .resumeTask(let number): return fixture.handle(.command(.task(fixture.task(number), .resume)))
        case .suspend: return fixture.handle(.command(.task(fixture.task(1), .suspend)))
        case .cancel: return fixture.handle(.command(.task(fixture.task(1), .cancel(keepsPartial: false))))
        case .verdict(let verdict):
            fixture.paths.say(verdict)
            let target = try Target("\(Self.address):80")
            return fixture.handle(
                .command(.gate(target: 1, .verdict(TargetVerdict(target: target, verdict: verdict)))))
        case .wire(let number, let isReused):
            let facts = ConnectionFacts(
                local: IPAddress("127.0.0.1"), remote: IPAddress(Self.address), isReused: isReused)
            return fixture.handle(.attempt(.of(1, number), .wireReached(facts)))
        case .head(let number, let block):
            let head = try #require(ResponseHead(block: Array(block.utf8)))
            return fixture.handle(.attempt(.of(1, number), .head(head)))
        case .answered(let number, let block):
            return fixture.handle(.attempt(.of(1, number), .finished(Indirect(try Self.outcome(block)))))
        case .failed(let number, let failure, let isOnWire):
            let now = MonotonicTime(nanoseconds: 1_000_000_000)
            var outcome = AttemptOutcome(progress: .init(lastActivity: now), started: now, ended: now)
            (outcome.failure, outcome.text) = (failure, "it broke")
            (outcome.isConnected, outcome.reachedWire) = (isOnWire, isOnWire)
            return fixture.handle(.attempt(.of(1, number), .finished(Indirect(outcome))))
        case .notStarted(let number): return fixture.handle(.notStarted(.of(1, number), "refused"))
        case .notPaused(let number): return fixture.handle(.notPaused(.of(1, number)))
        case .resolved(let lookup, let result):
            return fixture.handle(.command(.gate(target: 1, .resolved(lookup: lookup, result))))
        case .after(let duration):
            fixture.pass(duration)
            return fixture.handle(.timer(.task(1)))
        case .disk(let event): return fixture.handle(.command(.disk(1, event)))
        case .journal(let write, let issue):
            let error = issue.map { JournalError($0, "the journal is closed") }
            return fixture.handle(.command(.journal(1, write, error)))
        case .hook(let answer): return fixture.handle(.command(.delegate(1, .answered(question: 1, answer))))
        case .batchEnded: return fixture.handle(.batchEnded)
        case .holdAll: return fixture.handle(.command(.holdAll))
        case .reset: return fixture.handle(.command(.reset(done: {})))
        case .drain: return fixture.handle(.command(.drain(cancellingTasks: true, done: {})))
        }
    }

    // An answer as libcurl reports it: complete, and classified by its status.
    private static func outcome(_ block: String) throws -> AttemptOutcome {
        let now = MonotonicTime(nanoseconds: 1_000_000_000)
        let head = try #require(ResponseHead(block: Array(block.utf8)))
        var outcome = AttemptOutcome(progress: .init(lastActivity: now), started: now, ended: now)
        outcome.failure = (200..<300).contains(head.status) ? nil : .httpStatus
        (outcome.isConnected, outcome.reachedWire, outcome.isLengthVerified) = (true, true, true)
        outcome.head = head
        return outcome
    }

    // MARK: - The way to an attempt

    private static let launched = ["1: gate(immediate)", "1: attemptStarted(1)", "launch 1.1 GET http://192.0.2.1/a"]

    static let gates: [Row] = [
        Row(rule: "an open gate leads to an attempt", given: [get], when: .resume, then: ["1: resumed"] + launched),
        Row(
            rule: "a shut gate holds",
            given: [.verdict(ScriptedPathSource.lost()), get], when: .resume, then: ["1: resumed", "1: held(path)"]),
        Row(
            rule: "a gate that opens releases its task, and a canary's timer is set for nobody else",
            given: [.verdict(ScriptedPathSource.lost()), get, .resume], when: .verdict(ScriptedPathSource.routed()),
            then: [
                "1: released(path)", "1: gate(delayed)", "1: attemptStarted(1)", "launch 1.1 GET http://192.0.2.1/a",
            ]),
        Row(
            rule: "the tasks behind the first one follow later",
            given: [.verdict(ScriptedPathSource.lost()), get, get, .resume, .resumeTask(2)],
            when: .verdict(ScriptedPathSource.routed()),
            then: [
                "2: held(schedule)", "1: released(path)", "1: gate(delayed)", "2: released(path)",
                "1: attemptStarted(1)", "launch 1.1 GET http://192.0.2.1/a",
            ]),
        Row(
            rule: "without a free connection a task waits for one",
            configuration: oneConnection, given: [get, get, .resume], when: .resumeTask(2),
            then: ["2: resumed", "2: gate(immediate)", "2: held(concurrency)"]),
        Row(
            rule: "a connection that was given back goes to the task that waits",
            configuration: oneConnection, given: [get, get, .resume, .resumeTask(2)], when: .cancel,
            then: [
                "discard 1.1", "1: attemptFailed(cancelled, free)", "end 1 (cancelled)", "2: released(concurrency)",
                "2: attemptStarted(1)", "launch 2.1 GET http://192.0.2.1/a",
            ]),
        Row(
            rule: "a name is looked up before its attempt is launched",
            given: [.make("http://a.test/a")], when: .resume,
            then: ["1: resumed", "1: gate(immediate)", "1: attemptStarted(1)", "resolve a.test (1)"]),
        Row(
            rule: "an answer launches the attempt",
            given: [.make("http://a.test/a"), .resume], when: .resolved(1, .success([IPAddress(ipv4: 0xC000_0201)])),
            then: ["launch 1.1 GET http://a.test/a"]),
        Row(
            rule: "an answer to an older question does nothing",
            given: [.make("http://a.test/a"), .resume], when: .resolved(2, .success([IPAddress(ipv4: 0xC000_0201)])),
            then: []),
        Row(
            rule: "a name that does not exist is looked up again later",
            given: [.make("http://a.test/a"), .resume], when: .resolved(1, .failure(.nameNotFound)),
            then: ["1: attemptFailed(resolveFailed)", "1: retryScheduled(resolve_failed)", "1: held(backoff)"]),
        Row(
            rule: "before the session's end nothing starts",
            given: [get, .holdAll], when: .resume, then: ["1: resumed", "1: held(drain)"]),
        Row(
            rule: "a request that libcurl refuses is the task's end",
            given: [get, .resume], when: .notStarted(1),
            then: ["1: attemptFailed(invalidRequest, free)", "end 1 (failure)"]),
    ]

    private static let oneConnection = {
        var configuration = SessionConfiguration()
        (configuration.maxConnections, configuration.maxConnectionsPerHost) = (1, 1)
        return configuration
    }()
}

extension TaskRequest {
    fileprivate func posting() throws -> TaskRequest {
        var request = try TaskRequest(url: self.url, method: "POST")
        request.body = self.body
        return request
    }
}
