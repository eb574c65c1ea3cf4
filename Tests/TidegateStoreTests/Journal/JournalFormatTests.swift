import Foundation
import GRDB
import HTTPTypes
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateSession
@testable import TidegateStore

/// Rows as the first version wrote them: every later version must read them.
@Suite struct JournalFormatTests {
    private static let lifetime = """
        {"wall":1795305646214982,"monotonic":1896540516933,"boot":"test","lived":[0,103653045000000000],
        "effort":{"waited":[0,0],"inARow":1,"active":[0,101165148000000000],"charged":2}}
        """

    private static let description = """
        {"acceptsCompression":false,"attemptTimeout":[0,8000000000000000000],"body":{"data":{"_0":"AQID"}},
        "bytesPerSecondLimit":1000,"connectTimeout":[0,7000000000000000000],"deadline":[0,9000000000000000000],
        "destination":{"file":{"_0":"/tmp/out","permissions":416}},"expires":1900000000000000,
        "gate":{"patience":[0,5000000000000000000],"require":["routed","unmetered","interface:eth0"]},
        "headers":[{"name":"X-A","value":"1"}],"idleTimeout":[3,4659767778871345152],"isMarkedIdempotent":false,
        "key":"k","maxRedirects":10,"method":"PUT","name":"n","password":"p","priority":5,
        "retry":{"attempts":3,"base":[0,500000000000000000],"cap":[16,4852094820647174144],
        "maxElapsed":[3,4659767778871345152],"statuses":[408,425,429,500,502,503,504]},
        "sha256":"039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81",
        "trust":{"isInsecure":false,"pins":{"h.example":["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}},
        "url":"http://h.example/x","user":"u","usesHTTP2":false}
        """

    private static let upload = """
        {"body":{"file":{"_0":"/tmp/body","_1":{"inode":16302614,"modifiedNanoseconds":409658289,
        "modifiedSeconds":1795307214,"size":3}}},"connectTimeout":[0,10000000000000000000],
        "acceptsCompression":false,"destination":{"memory":{"limit":16777216}},"method":"POST","priority":0,
        "maxRedirects":10,"idleTimeout":[3,4659767778871345152],"headers":[],"url":"http://127.0.0.1:1/",
        "usesHTTP2":false,"isMarkedIdempotent":true,"resuming":{"url":"http://127.0.0.1:1/","file":"/tmp/f",
        "offset":10,"total":20,"etag":"\\"tide\\""}}
        """

    private static func tasks(_ rows: [StatementArguments]) async throws -> [JournaledTask] {
        let directory = try TestDirectory()
        try Journal(directory.state).close()
        let queue = try DatabaseQueue(path: directory.journalFile)
        try await queue.write { database in
            for row in rows {
                try database.execute(
                    sql: """
                        INSERT INTO task (id, accepted, key, description, suspensions, in_doubt, hold, placing, life)
                        VALUES (?, 1795305646114847, ?, ?, ?, ?, ?, ?, ?)
                        """, arguments: row)
            }
        }
        try queue.close()
        let fixture = try JournalFixture(directory)
        let tasks = try await fixture.session.find(.unfinished)
        await fixture.stop()
        return tasks
    }

    @Test("A request with every option is read as it was submitted")
    func request() async throws {
        let row: StatementArguments = [
            "01a2008e-281f-7a2d-b4e5-f0868659021a", "k", Self.description, 1, 0, nil, nil, Self.lifetime,
        ]
        let task = try #require(try await Self.tasks([row]).first)
        var request = try TaskRequest(
            url: "http://h.example/x", method: "PUT", headers: [try HTTPField("X-A", "1")], body: .data([1, 2, 3]))
        request.options.name = "n"
        request.destination = .file("/tmp/out", permissions: 0o640)
        request.options.connectTimeout = .seconds(7)
        request.options.attemptTimeout = .seconds(8)
        request.options.deadline = .seconds(9)
        request.options.gate = GatePolicy(require: [.routed, .unmetered, .interface("eth0")], patience: .seconds(5))
        request.options.retry = RetryPolicy(attempts: 3, maxElapsed: .seconds(60))
        request.options.priority = 5
        request.options.credentials = Credentials(user: "u", password: "p")
        request.options.bytesPerSecondLimit = 1000
        request.options.expires = WallTime(microseconds: 1_900_000_000_000_000)
        request.options.sha256 = ContentDigest(of: [1, 2, 3])
        request.options.tls = ServerTrustPolicy(
            pins: ["h.example": ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]], isInsecure: false)
        #expect(task.description == (try TaskDescription(request, key: "k")))
        #expect(task.id == TaskID("01a2008e-281f-7a2d-b4e5-f0868659021a"))
        #expect(task.accepted == WallTime(microseconds: 1_795_305_646_114_847))
        #expect(task.suspensions == 1)
        var lifetime = TaskLifetime(
            lived: .microseconds(103_653) + .nanoseconds(45), wall: WallTime(microseconds: 1_795_305_646_214_982),
            monotonic: MonotonicTime(nanoseconds: 1_896_540_516_933), boot: "test")
        lifetime.effort = RetryProgress(
            active: .microseconds(101_165) + .nanoseconds(148), waited: .zero, charged: 2, inARow: 1)
        #expect(task.life == lifetime)
    }

    @Test("An upload, its partial answer and its marks are read as they were written")
    func marks() async throws {
        let row: StatementArguments = [
            "01a2008e-2821-74ec-ad47-a7789722d5c2", nil, Self.upload, 0, 1,
            #"{"offset":100000,"total":240000,"etag":"\"tide\""}"#,
            #"{"size":5,"inode":7,"modifiedSeconds":11,"modifiedNanoseconds":13}"#, Self.lifetime,
        ]
        let task = try #require(try await Self.tasks([row]).first)
        let body = FileIdentity(
            size: 3, inode: 16_302_614, modifiedSeconds: 1_795_307_214, modifiedNanoseconds: 409_658_289)
        #expect(task.description.body == .file("/tmp/body", body))
        #expect(task.description.key == nil)
        #expect(task.isInDoubt)
        #expect(task.hold == ResumePoint(offset: 100_000, validator: .etag("\"tide\""), total: 240_000))
        #expect(task.placing == FileIdentity(size: 5, inode: 7, modifiedSeconds: 11, modifiedNanoseconds: 13))
        let request = try #require(try? task.description.request(), "the request cannot be made again")
        #expect(request.options.isMarkedIdempotent)
        #expect(request.options.resuming?.point.offset == 10)
    }
}
