import Foundation
import GRDB
import Testing
import TidegateStore
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A process is killed at every step of its journal, and once more when it goes on; the last one finishes.
@Suite(.timeLimit(.minutes(5)))
struct KillTests {
    /// How a run goes: where the first and the second process die.
    struct Plan: Sendable {
        var first: String
        var second: String?
        /// A moment instead of a step, in milliseconds after the start.
        var moment: Int?
    }

    private static let entries = ["accepted", "suspensions", "sending", "held", "placing", "ended"]

    /// 200 runs: every step, early and late, alone and twice, and moments in between.
    static let plans: [Plan] = {
        var plans: [Plan] = []
        let steps = Self.entries.flatMap { entry in ["before", "after"].map { "\($0):\(entry)" } }
        for step in steps {
            for count in 1...4 { plans.append(Plan(first: "\(step):\(count)", second: nil)) }
            for second in steps { plans.append(Plan(first: "\(step):1", second: "\(second):1")) }
        }
        return plans + (0..<8).map { Plan(first: "none:none:0", second: nil, moment: 20 + $0 * 12) }
    }()

    // Most of a run is waiting for its processes and its server; the processors are shared by a few.
    private static let workers = 8

    @Test("Whatever step a process dies at, nothing accepted is lost and nothing is sent twice that may not be")
    func everyStep() async throws {
        #expect(Self.plans.count == 200)
        let counts = try await withThrowingTaskGroup(of: [Post].self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    var posts: [Post] = []
                    for number in stride(from: worker, to: Self.plans.count, by: Self.workers) {
                        posts.append(try await Self.run(Self.plans[number]))
                    }
                    return posts
                }
            }
            return try await group.reduce(into: Tally()) { tally, posts in
                for post in posts { tally.add(post) }
            }
        }
        // A run that never sends what it accepted would keep the promise, too; most have to send, and some die in
        // doubt.
        #expect(counts.sent >= 100, "\(counts)")
        #expect(counts.sent + counts.inDoubt + counts.notAccepted == 200, "\(counts)")
        // How many do depends on how soon a request follows its acceptance, and on the machine.
        #expect(counts.inDoubt >= 1, "\(counts)")
    }

    /// What became of the request that may not be sent twice.
    enum Post: Sendable { case notAccepted, sent, inDoubt }

    struct Tally: Sendable {
        var sent = 0
        var inDoubt = 0
        var notAccepted = 0

        mutating func add(_ post: Post) {
            switch post {
            case .notAccepted: self.notAccepted += 1
            case .sent: self.sent += 1
            case .inDoubt: self.inDoubt += 1
            }
        }
    }

    private static let size: Int64 = 240_000

    private static func run(_ plan: Plan) async throws -> Post {
        // What a killed process has written stays in memory as it stays on a disk; losing power is another matter.
        let folder = try Folder(inMemory: true)
        let server = try LiveServer { request in
            request.path == "/file"
                ? .pattern(Self.size, for: request, slice: 60_000, pauseMilliseconds: 15)
                : .respond(text: request.path)
        }
        defer { server.stop() }
        var told = try await Self.live(folder, server, "submit", fault: plan.first, moment: plan.moment)
        try Self.checkOffset(folder, plan)
        if let second = plan.second {
            told += try await Self.live(folder, server, "continue", fault: second)
            try Self.checkOffset(folder, plan)
        }
        told += try await Self.live(folder, server, "continue", fault: nil)
        return try await Self.judge(folder, server, Self.ids(told), plan)
    }

    /// Lets a process live until it dies or is done; gives what it had told.
    private static func live(
        _ folder: Folder, _ server: LiveServer, _ mode: String, fault: String?, moment: Int? = nil
    ) async throws -> String {
        let program = try Program(
            [BuiltProduct.path(of: "JournalCrashHelper"), folder.state, folder.path, "\(server.port)", mode],
            environment: fault.map { ["TIDEGATE_FAULT": $0] } ?? [:])
        if let moment {
            try await Task.sleep(for: .milliseconds(moment))
            program.signal(SIGKILL)
        }
        let output = await program.finish(within: .seconds(20))
        if fault == nil { #expect(output.status == 0, "\(output.errors) \(mode)") }
        return output.output
    }

    /// The ids that were told to whoever submitted, by name.
    private static func ids(_ text: String) -> [String: TaskID] {
        var ids: [String: TaskID] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let id = TaskID(String(words[1])) { ids[String(words[0])] = id }
        }
        return ids
    }

    private static func judge(
        _ folder: Folder, _ server: LiveServer, _ ids: [String: TaskID], _ plan: Plan
    ) async throws -> Post {
        let rig = try JournalRig(folder)
        #expect(try await rig.session.find(.unfinished).isEmpty, "\(plan)")
        for (name, id) in ids {
            let end = try #require(try await rig.entry(id)?.end, "\(name) was accepted and is lost: \(plan)")
            guard name == "post", end.outcome != .success else {
                #expect(end.outcome == .success, "\(name): \(end) \(plan)")
                continue
            }
            #expect(end.failure == .outcomeUnknown, "\(end) \(plan)")
        }
        if ids["file"] != nil { #expect(folder.hasPattern("file", Self.size), "\(plan)") }
        let posts = server.requests.count { $0.path == "/post" }
        #expect(posts <= 1, "\(posts) \(plan)")
        let post = try await Self.post(folder, ids["post"], rig)
        if post == .sent { #expect(posts == 1, "\(plan)") }
        if post == .notAccepted { #expect(posts == 0, "\(plan)") }
        // Before leave to send is durable nothing is in doubt.
        if plan.first.hasPrefix("before:sending:1"), plan.second == nil { #expect(post == .sent, "\(plan)") }
        if ids["keyed"] != nil { #expect(server.requests.contains { $0.path == "/keyed" }) }
        #expect(!FileManager.default.fileExists(atPath: folder.file(".file.tidegate")), "\(plan)")
        await rig.stop()
        return post
    }

    private static func post(_ folder: Folder, _ id: TaskID?, _ rig: JournalRig) async throws -> Post {
        guard let id else { return try await self.unheard(folder, rig) }
        return try await rig.entry(id)?.end?.outcome == .success ? .sent : .inDoubt
    }

    // Accepted, and its process died before it could say so.
    private static func unheard(_ folder: Folder, _ rig: JournalRig) async throws -> Post {
        let ended = try await rig.session.find(.ended(atMost: 10)).first { $0.description.key == "post" }
        guard let ended else { return .notAccepted }
        return ended.end?.outcome == .success ? .sent : .inDoubt
    }

    /// The journal never promises bytes that are not there.
    private static func checkOffset(_ folder: Folder, _ plan: Plan) throws {
        guard FileManager.default.fileExists(atPath: folder.journalFile) else { return }
        let queue = try DatabaseQueue(path: folder.journalFile)
        let held = try queue.read { database -> String? in
            guard try database.tableExists("task") else { return nil }
            return try String.fetchOne(
                database, sql: "SELECT hold FROM task WHERE key = 'file' AND outcome IS NULL AND placing IS NULL")
        }
        guard let held else { return }
        let hold = try JSONDecoder().decode(JournaledHold.self, from: Data(held.utf8))
        let there = folder.size(".file.tidegate") ?? 0
        #expect(hold.offset <= there, "\(hold.offset) of \(there): \(plan)")
    }
}
