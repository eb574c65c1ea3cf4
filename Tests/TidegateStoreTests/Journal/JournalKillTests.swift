import Foundation
import GRDB
import Testing
import TidegateStore
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A process is killed at every step of its journal, and once more after a restart; the last one finishes the tasks.
@Suite(.enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(10)))
struct JournalKillTests {
    // Most of a run is waiting for its processes and its server.
    private static let concurrentRuns = 8

    @Test("Killed at any step of any task, and again after a restart, nothing accepted is lost or sent twice")
    func everyStep() async throws {
        let outcomes = try await Self.run(KillPlan.alone)
        #expect(outcomes.count == KillPlan.alone.count)
        // Otherwise a process that never sends what it accepted would pass, and one that is never in doubt.
        #expect(outcomes.count { $0 == .sent } >= 1)
        #expect(outcomes.count { $0 == .inDoubt } >= 1)
    }

    @Test("Killed at any step of five tasks at once, nothing accepted is lost or sent twice")
    func everyStepTogether() async throws {
        let outcomes = try await Self.run(KillPlan.together + KillPlan.moments)
        #expect(outcomes.count == KillPlan.together.count + KillPlan.moments.count)
    }

    private static func run(_ plans: [KillPlan]) async throws -> [PostOutcome] {
        try await withThrowingTaskGroup(of: [PostOutcome].self) { group in
            for worker in 0..<Self.concurrentRuns {
                group.addTask {
                    var outcomes: [PostOutcome] = []
                    for number in stride(from: worker, to: plans.count, by: Self.concurrentRuns) {
                        outcomes.append(try await KillRun(plans[number]).run())
                    }
                    return outcomes
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}

/// What became of the request that must not be sent twice.
private enum PostOutcome: Sendable { case notAccepted, sent, inDoubt }

/// One plan carried out.
private struct KillRun {
    private static let size: Int64 = 240_000

    private let plan: KillPlan
    private let directory: TestDirectory
    private let server: LiveServer
    /// Opened once the journal has an offset of the download.
    private let offsetWritten: Latch

    init(_ plan: KillPlan) throws {
        let latch = Latch()
        self.plan = plan
        self.offsetWritten = latch
        // What a killed process has written stays in memory as it would on a disk; a power cut is not tested here.
        self.directory = try TestDirectory(inMemory: true)
        self.server = try LiveServer { request in
            switch request.path {
            case "/file":
                var answer = LiveServerAnswer.pattern(Self.size, for: request, slice: Self.size / 2)
                if answer.steps.count > 2 { answer.steps.insert(.waitFor(latch), at: 2) }
                return answer
            case "/keyed": return request.number == 1 ? .respond(503) : .respond(text: request.path)
            default: return .respond(text: request.path)
            }
        }
    }

    func run() async throws -> PostOutcome {
        defer { self.server.stop() }
        var output = try await self.runHelper("submit:\(self.plan.tasks.joined(separator: ","))", self.plan.first)
        try self.checkOffset(after: self.plan.first)
        if let second = self.plan.second {
            output += try await self.runHelper("continue", second)
            try self.checkOffset(after: second)
        }
        output += try await self.runHelper("continue", nil)
        return try await self.verify(Self.ids(output))
    }

    /// Runs a process until it is killed or done; returns what it printed.
    private func runHelper(_ mode: String, _ step: KillPlan.Step?) async throws -> String {
        let helper = try Program(
            [
                BuiltProduct.path(of: "JournalCrashHelper"), self.directory.state, self.directory.path,
                "\(self.server.port)", mode,
            ],
            environment: step.map { ["TIDEGATE_FAULT": "\($0)"] } ?? [:])
        let watch = Task {
            while (try? self.journaledOffset()) == nil { try await Task.sleep(for: .milliseconds(10)) }
            self.offsetWritten.open()
        }
        let isFirst = mode != "continue"
        if isFirst, let moment = self.plan.moment {
            try await Task.sleep(for: .milliseconds(moment))
            helper.signal(SIGKILL)
        }
        let result = await helper.finish()
        watch.cancel()
        if let step {
            let line = "killed \(step.phase) \(step.entry) \(step.number)\n"
            #expect(result.status == 128 + SIGKILL && result.errors == line, "\(self.plan): \(result)")
        } else if !isFirst {
            #expect(result.status == 0, "\(self.plan): \(result)")
        }
        return result.output
    }

    /// The ids that the helper printed once they were accepted, by name.
    private static func ids(_ output: String) -> [String: TaskID] {
        var ids: [String: TaskID] = [:]
        for line in output.split(separator: "\n") {
            let fields = line.split(separator: " ")
            if fields.count == 2, let id = TaskID(String(fields[1])) { ids[String(fields[0])] = id }
        }
        return ids
    }

    private func verify(_ ids: [String: TaskID]) async throws -> PostOutcome {
        let fixture = try JournalFixture(self.directory)
        #expect(try await fixture.session.find(.unfinished).isEmpty, "\(self.plan)")
        // By their keys: the process may have been killed before it could print an id.
        let ended = try await fixture.session.find(.ended(atMost: 10))
        let ends = Dictionary(ended.map { ($0.description.key ?? "", $0) }) { first, _ in first }
        #expect(ends.count == ended.count, "\(self.plan)")
        for name in Set(self.plan.accepted).union(ids.keys) {
            let task = try #require(ends[name], "\(name) was accepted and is lost: \(self.plan)")
            #expect(ids[name] ?? task.id == task.id, "\(self.plan)")
            let end = try #require(task.end, "\(self.plan)")
            switch name {
            case "refused": #expect(end.outcome == .failure, "\(end) \(self.plan)")
            case "post" where end.outcome != .success:
                #expect(end.failure == .outcomeUnknown, "\(end) \(self.plan)")
            default: #expect(end.outcome == .success, "\(name): \(end) \(self.plan)")
            }
        }
        if ends["file"] != nil { #expect(self.directory.hasPattern("file", Self.size), "\(self.plan)") }
        #expect(!FileManager.default.fileExists(atPath: self.directory.file(".file.tidegate")), "\(self.plan)")
        if ends["keyed"] != nil { #expect(self.server.requests.contains { $0.path == "/keyed" }, "\(self.plan)") }
        let outcome = Self.outcome(ofPost: ends["post"]?.end)
        let posts = self.server.requests.count { $0.path == "/post" }
        switch outcome {
        case .notAccepted: #expect(posts == 0, "\(self.plan)")
        case .sent: #expect(posts == 1, "\(self.plan)")
        case .inDoubt: #expect(posts <= 1, "\(posts) \(self.plan)")
        }
        // Before `sending` is durable the request cannot have been sent.
        if self.plan.tasks == ["post"], self.plan.first?.description == "before:sending:1", self.plan.second == nil {
            #expect(outcome == .sent, "\(self.plan)")
        }
        await fixture.stop()
        return outcome
    }

    private static func outcome(ofPost end: JournaledEnd?) -> PostOutcome {
        end.map { $0.outcome == .success ? .sent : .inDoubt } ?? .notAccepted
    }

    /// The journal must never promise bytes that are not in the file.
    private func checkOffset(after step: KillPlan.Step?) throws {
        let offset = try self.journaledOffset()
        if self.plan.hasOffset(after: step) { try #require(offset != nil, "\(self.plan)") }
        let size = self.directory.size(".file.tidegate") ?? 0
        #expect(offset ?? 0 <= size, "\(offset ?? 0) of \(size): \(self.plan)")
    }

    /// The offset in the journal of the download that is neither finished nor about to be.
    private func journaledOffset() throws -> Int64? {
        guard FileManager.default.fileExists(atPath: self.directory.journalFile) else { return nil }
        // A process that opens the journal after a kill locks it for a moment.
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: self.directory.journalFile, configuration: configuration)
        let text = try queue.read { database -> String? in
            guard try database.tableExists("task") else { return nil }
            return try String.fetchOne(
                database, sql: "SELECT hold FROM task WHERE key = 'file' AND outcome IS NULL AND placing IS NULL")
        }
        guard let text else { return nil }
        return try JSONDecoder().decode(ResumePoint.self, from: Data(text.utf8)).offset
    }
}
