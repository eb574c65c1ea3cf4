import Glibc
internal import HTTPTypes
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit
import TidegateTransfer

/// What may be continued, and by what.
@Suite(.timeLimit(.minutes(5)))
struct ContinuationTests {
    private static func fixture(_ paths: ScriptedPathSource = ScriptedPathSource()) throws -> SessionFixture {
        let retry = RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))
        return try SessionFixture(.with { $0.retry = retry }, paths: paths)
    }

    /// Half of the pattern, broken off.
    private static func half(_ total: Int64, _ fields: [String]) -> LiveServerAnswer {
        let head = LiveServerAnswer.head(200, fields + ["Content-Length: \(total)"])
        return LiveServerAnswer([.send(head), .pattern(from: 0, count: total / 2), .close])
    }

    /// Leaves what an earlier process would have left of a download of the server's to "a".
    private static func leavePart(_ count: Int64, of server: LiveServer, in scratch: Scratch) throws {
        scratch.write(LiveServerAnswer.bytes(count: count), to: ".a.tidegate")
        let point = ResumePoint(offset: count, validator: .etag("\"tide\""), total: 400_000)
        try DownloadPaths(destination: scratch.file("a")).writeRecord(url: server.url(), point)
    }

    /// The rest of a body that its server describes by nothing but its length.
    private static func bare(_ body: [UInt8], _ request: LiveServerRequest, upTo end: Int? = nil) -> LiveServerAnswer {
        let start = Int(request.rangeStart ?? 0)
        let range = start > 0 ? ["Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"] : []
        let head = LiveServerAnswer.head(start > 0 ? 206 : 200, range + ["Content-Length: \(body.count - start)"])
        let answer = LiveServerAnswer([.send(head + body[start..<(end ?? body.count)])])
        return end == nil ? answer : answer.then(.close)
    }

    @Test("Without validators a digest lets a body go on where it ended, also in another session")
    func digest() async throws {
        let body = LiveServerAnswer.bytes(count: 300_000)
        let server = try LiveServer { request in
            Self.bare(body, request, upTo: request.number < 3 ? request.number * 100_000 : nil)
        }
        defer { server.stop() }
        let scratch = try Scratch()
        for retry in [RetryPolicy.never, RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))] {
            let fixture = try SessionFixture(.with { $0.retry = retry })
            var request = try TaskRequest(url: server.url())
            request.destination = .file(scratch.file("a"), continues: true)
            request.options.sha256 = ContentDigest(of: body)
            let result = await fixture.run(request).result()
            #expect(result.outcome == (retry == .never ? .failure : .success), "\(result)")
            await fixture.session.invalidate(cancellingTasks: true)
        }
        #expect(server.requests.map(\.rangeStart) == [nil, 100_000, 200_000])
        #expect(server.requests.allSatisfy { $0.field("if-range") == nil })
        #expect(scratch.bytes("a") == body && scratch.names == ["a"])
    }

    @Test("Parts of two bodies are found by the digest, and the right one is fetched from its start")
    func mixture() async throws {
        let (old, new) = ([UInt8](repeating: 1, count: 200_000), LiveServerAnswer.bytes(count: 200_000))
        let server = try LiveServer { request in
            Self.bare(request.number == 1 ? old : new, request, upTo: request.number == 1 ? 50_000 : nil)
        }
        defer { server.stop() }
        let (scratch, fixture) = (try Scratch(), try Self.fixture())
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        request.options.sha256 = ContentDigest(of: new)
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success, "\(result)")
        #expect(server.requests.map(\.rangeStart) == [nil, 50_000, nil])
        #expect(scratch.bytes("a") == new)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A complete file is not fetched again; a shorter, a longer or an older one is",
        arguments: [0, -1, 1, nil] as [Int64?])
    func complete(difference: Int64?) async throws {
        let server = try LiveServer { request in
            request.field("if-unmodified-since") == "Thu, 01 Jan 1970 00:00:05 GMT"
                ? .respond(412) : .pattern(100_000, for: request)
        }
        defer { server.stop() }
        let (scratch, fixture) = (try Scratch(), try Self.fixture())
        scratch.write(LiveServerAnswer.bytes(count: 100_000 + (difference ?? 0)), to: "a")
        if difference == nil {
            let old = timespec(tv_sec: 5, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, scratch.file("a"), [old, old], 0) == 0)
        }
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let task = fixture.run(request)
        let result = await task.result()
        #expect(result.outcome == .success && result.file == scratch.file("a"), "\(result)")
        #expect(result.bytes == (difference == 0 ? 0 : 100_000))
        #expect(server.requests.count == (difference == 0 ? 1 : 2))
        #expect(fixture.eventNames(of: task).contains("restarted") == (difference != 0))
        #expect(task.info.progress.expected == 100_000)
        #expect(scratch.hasPattern("a", 100_000) && scratch.names == ["a"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A file beside the control file of aria2 or axel is not complete, whatever its length",
        arguments: ["aria2", "st"])
    func preallocated(_ suffix: String) async throws {
        let server = try LiveServer { .pattern(100_000, for: $0) }
        defer { server.stop() }
        let (scratch, fixture) = (try Scratch(), try Self.fixture())
        scratch.write([UInt8](repeating: 0, count: 100_000), to: "a")
        scratch.write([1], to: "a.\(suffix)")
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success && result.bytes == 100_000, "\(result)")
        #expect(scratch.hasPattern("a", 100_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    enum Unfit: CaseIterable {
        case put, ownRange, compressed

        func request(_ url: String) throws -> TaskRequest {
            switch self {
            case .put: return try TaskRequest(url: url, method: "PUT", body: .data([1]))
            case .ownRange: return try TaskRequest(url: url, headers: [try HTTPField("Range", "bytes=1000-")])
            case .compressed:
                var request = try TaskRequest(url: url)
                request.options.acceptsCompression = true
                return request
            }
        }
    }

    @Test("A request that cannot be continued does not adopt a part", arguments: Unfit.allCases)
    func unfit(_ unfit: Unfit) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(400_000, for: $0) }
        defer { server.stop() }
        try Self.leavePart(150_000, of: server, in: scratch)
        let fixture = try Self.fixture()
        var request = try unfit.request(server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        #expect(await fixture.run(request).result().outcome == .success)
        let first = try #require(server.requests.first)
        #expect(first.field("range") == (unfit == .ownRange ? "bytes=1000-" : nil))
        #expect(first.field("if-range") == nil)
        let start: Int64 = unfit == .ownRange ? 1000 : 0
        #expect(scratch.bytes("a") == LiveServerAnswer.bytes(from: start, count: 400_000 - start))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A file that was replaced on the server is not mixed in, whatever validator tells, and fetched whole",
        arguments: ["Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT", "Repr-Digest: sha-256=:bmV3:"])
    func replacedFile(_ field: String) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number > 1 else {
                return Self.half(
                    200_000,
                    [
                        "ETag: \"e\"", "Last-Modified: Tue, 01 Jan 2019 00:00:00 GMT",
                        "Date: Fri, 01 Jan 2021 00:00:00 GMT",
                        "Repr-Digest: sha-256=:b2xk:",
                    ])
            }
            let new = [UInt8](repeating: 7, count: 200_000)
            guard let start = request.rangeStart.map(Int.init) else {
                return LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 200000"]) + new)])
            }
            let fields = ["Content-Range: bytes \(start)-199999/200000", "Content-Length: \(200_000 - start)", field]
            return LiveServerAnswer([.send(LiveServerAnswer.head(206, fields) + new[start...])])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(scratch.bytes("a") == [UInt8](repeating: 7, count: 200_000))
        #expect(server.requests.map(\.rangeStart) == [nil, 100_000, nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("The rest of a body with the status of the whole is not called the whole", arguments: [true, false])
    func restAsWhole(namesRange: Bool) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number > 1 else { return Self.half(200_000, ["ETag: \"e\""]) }
            guard let start = request.rangeStart else { return .pattern(200_000, for: request) }
            let range = namesRange ? ["Content-Range: bytes \(start)-199999/200000"] : []
            let head = LiveServerAnswer.head(200, ["ETag: \"e\"", "Content-Length: \(200_000 - start)"] + range)
            return LiveServerAnswer([.send(head), .pattern(from: start, count: 200_000 - start)])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success && result.bytes == 200_000)
        #expect(scratch.hasPattern("a", 200_000))
        #expect(server.requests.map(\.rangeStart) == [nil, 100_000, nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A part that was not asked for is refused, although its status is that of the whole")
    func unaskedPart() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in .respond(200, ["Content-Range: bytes 4-7/8"], text: "rest") }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.failure == .protocolError && scratch.names == [])
        #expect(
            result.explanation?.hasSuffix("the server sent a part that was not requested (200)") == true,
            "\(result.explanation ?? "")")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A range of the user's own that breaks off is asked for as it was, and leaves nothing to continue")
    func ownRange() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number < 3 else { return LiveServerAnswer([.hang]) }
            let fields = ["ETag: \"tide\"", "Content-Range: bytes 1000-99999/100000", "Content-Length: 99000"]
            return LiveServerAnswer([
                .send(LiveServerAnswer.head(206, fields)), .pattern(from: 1000, count: 50_000), .close,
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url(), headers: [try HTTPField("Range", "bytes=1000-")])
        request.destination = .file(scratch.file("a"), continues: true)
        let task = fixture.run(request)
        #expect(await fixture.wait { server.requests.count == 3 })
        task.cancel()
        _ = await task.result()
        #expect(server.requests.allSatisfy { $0.field("range") == "bytes=1000-" && $0.field("if-range") == nil })
        #expect(scratch.names == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bytes that were thrown away are asked for again, not taken for held", arguments: [true, false])
    func hole(isFile: Bool) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            switch request.number {
            case 1: return Self.half(200_000, [])
            case 2:
                let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 200000"])
                return LiveServerAnswer([.send(head), .close])
            default: return .pattern(200_000, for: request)
            }
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = isFile ? .file(scratch.file("a")) : .discard
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success)
        #expect(result.bytes == 200_000)
        #expect(server.requests.map { $0.field("range") } == [nil, nil, nil])
        if isFile { #expect(scratch.hasPattern("a", 200_000)) }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A refused answer's validator is not taken for that of what is held")
    func refused() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            switch request.number {
            case 1: return Self.half(200_000, ["ETag: \"old\""])
            case 2:
                let fields = ["ETag: \"new\"", "Content-Range: bytes 100000-199999/200000", "Content-Length: 100000"]
                return LiveServerAnswer([.send(LiveServerAnswer.head(206, fields)), .hang])
            default: return .pattern(200_000, for: request, etag: "\"new\"")
            }
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        request.options.idleTimeout = .seconds(3)
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map { $0.field("if-range") } == [nil, "\"old\"", "\"old\""])
        #expect(fixture.eventNames(of: task).contains("restarted"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A part that was adopted belongs to its task while that waits at the gate")
    func waiting() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(400_000, for: $0) }
        defer { server.stop() }
        try Self.leavePart(150_000, of: server, in: scratch)
        let fixture = try Self.fixture(ScriptedPathSource(ScriptedPathSource.lost()))
        let other = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let task = fixture.run(request)
        #expect(await fixture.wait { task.state.name == .waiting })
        #expect(await other.run(request).result().failure == .fileError)
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map { $0.field("range") } == ["bytes=150000-"])
        #expect(scratch.hasPattern("a", 400_000))
        #expect(scratch.names == ["a"])
        await fixture.session.invalidate(cancellingTasks: true)
        await other.session.invalidate(cancellingTasks: true)
    }

    @Test("A part that got shorter while its task waited is not continued")
    func shrunk() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(400_000, for: $0) }
        defer { server.stop() }
        try Self.leavePart(150_000, of: server, in: scratch)
        let fixture = try Self.fixture(ScriptedPathSource(ScriptedPathSource.lost()))
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let task = fixture.run(request)
        #expect(await fixture.wait { task.state.name == .waiting })
        scratch.write([1, 2, 3], to: ".a.tidegate")
        fixture.paths.say(ScriptedPathSource.routed())
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map { $0.field("range") } == [nil])
        #expect(scratch.hasPattern("a", 400_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bytes that had been here before are no progress")
    func progress() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in Self.half(200_000, ["ETag: \"tide\""]) }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.failure == .retriesExhausted)
        // The first failure brought something new and is free, the next four did not.
        #expect(server.requests.count == 5)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
