import FoundationEssentials
import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// Resume data and digests.
@Suite(.timeLimit(.minutes(5)))
struct ResumeTests {
    private static func halfway(_ etag: String = "\"tide\"") throws -> LiveServer {
        try LiveServer { request in
            guard request.number == 1 else { return .pattern(400_000, for: request, etag: etag) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 150_000), .hang])
        }
    }

    private static func cancelled(_ server: LiveServer, _ path: String, _ fixture: SessionFixture) async throws
        -> ResumeData
    {
        var request = try TaskRequest(url: server.url("/file?x=1"))
        request.destination = .file(path)
        let task = fixture.run(request)
        #expect(await fixture.wait { task.currentProgress.receivedWire == 150_000 })
        let data = try #require(await task.cancelProducingResumeData())
        #expect(task.state == .completed(.cancelled))
        #expect(task.resumeData == data)
        #expect(data.point.offset == 150_000)
        #expect(data.point.total == 400_000)
        return data
    }

    @Test("A cancelled download goes on from its resume data, even in another form and another session")
    func resume() async throws {
        let scratch = try Scratch()
        let server = try Self.halfway()
        defer { server.stop() }
        let first = try SessionFixture()
        let data = try await Self.cancelled(server, scratch.file("a"), first)
        await first.session.invalidate(cancellingTasks: true)
        let again = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        #expect(again == data)
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(resuming: again))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.bytes == 250_000)
        #expect(result.refetchedBytes == 0)
        #expect(scratch.hasPattern("a", 400_000))
        #expect(scratch.names == ["a"])
        let names = fixture.eventNames(of: task)
        let head = try #require(names.firstIndex { $0.hasPrefix("responseHead") })
        #expect(names[head + 1] == "continued")
        #expect(server.requests.last?.rangeStart == 150_000)
        #expect(server.requests.last?.field("if-range") == "\"tide\"")
        let fractions = fixture.recorder.taskChanges(of: task.id).compactMap { change -> Double? in
            if case .progress(let progress, _) = change { progress.fraction } else { nil }
        }
        #expect(fractions.allSatisfy { $0 > 0 })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body that changed on the server starts again and is not mixed")
    func changed() async throws {
        let scratch = try Scratch()
        let server = try Self.halfway("\"ebb\"")
        defer { server.stop() }
        let fixture = try SessionFixture()
        let data = try await Self.cancelled(server, scratch.file("a"), fixture)
        let task = fixture.run(try TaskRequest(resuming: data))
        #expect(await task.result().outcome == .success)
        #expect(scratch.hasPattern("a", 400_000))
        #expect(fixture.eventNames(of: task).contains("restarted"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bytes that are gone, or fewer than promised, are fetched again")
    func shorter() async throws {
        let scratch = try Scratch()
        let server = try Self.halfway()
        defer { server.stop() }
        let fixture = try SessionFixture()
        let data = try await Self.cancelled(server, scratch.file("a"), fixture)
        scratch.write(LiveServerAnswer.bytes(count: 1000), to: ".a.tidegate")
        #expect(await fixture.run(try TaskRequest(resuming: data)).result().outcome == .success)
        #expect(scratch.hasPattern("a", 400_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Data of another URL, another file or another kind of request are refused in a sentence")
    func refused() throws {
        let point = ResumePoint(offset: 5, validator: .etag("\"e\""), total: 9)
        let data = ResumeData(url: "http://a.test/x", file: "/tmp/x", point: point)
        var request = try TaskRequest(url: "http://b.test/x")
        request.destination = .file("/tmp/x")
        #expect(throws: TaskError.self) { try request.resume(from: data) }
        request = try TaskRequest(url: "http://a.test/x")
        request.destination = .file("/tmp/y")
        #expect(throws: TaskError.self) { try request.resume(from: data) }
        request.destination = .memory(limit: 9)
        #expect(throws: TaskError.self) { try request.resume(from: data) }
        let twisted = Data(#"{"url":"http://a.test/x","file":"/tmp/x","offset":99,"total":9,"etag":"\"e\""}"#.utf8)
        let lying = try JSONDecoder().decode(ResumeData.self, from: twisted)
        #expect(throws: TaskError.self) { try TaskRequest(resuming: lying) }
        #expect(throws: (any Error).self) { try JSONDecoder().decode(ResumeData.self, from: Data("{}".utf8)) }
    }

    @Test("Without anything to go on by there are no resume data, and nothing is left")
    func nothing() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 1000"])), .pattern(from: 0, count: 100), .hang,
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        let memory = fixture.run(request)
        request.destination = .file(scratch.file("a"))
        let file = fixture.run(request)
        #expect(
            await fixture.wait {
                file.currentProgress.receivedWire == 100 && memory.currentProgress.receivedWire == 100
            })
        #expect(await file.cancelProducingResumeData() == nil)
        #expect(await memory.cancelProducingResumeData() == nil)
        #expect(scratch.names.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A download that fails and is to be continued leaves resume data, too")
    func failed() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            guard request.number == 1 else { return .pattern(400_000, for: request) }
            let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 400000"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 150_000), .reset])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.retry = .never })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"), continues: true)
        let task = fixture.run(request)
        #expect(await task.result().outcome == .failure)
        let data = try #require(task.resumeData)
        let resumed = await fixture.run(try TaskRequest(resuming: data)).result()
        #expect(resumed.outcome == .success, "\(resumed)")
        #expect(scratch.hasPattern("a", 400_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Attempts that bring a part

    /// Each connection brings the next part of the pattern and is reset; with `fromStart` each one starts the body again.
    private static func dropping(after part: Int64, of total: Int64, fromStart: Bool = false) throws -> LiveServer {
        try LiveServer { request in
            let start = fromStart ? 0 : request.rangeStart ?? 0
            let length = fromStart ? part + Int64(request.number) * 20_000 : part
            guard start + length < total else { return .pattern(total, for: request) }
            let range = start > 0 ? ["Content-Range: bytes \(start)-\(total - 1)/\(total)"] : []
            let fields = ["ETag: \"tide\"", "Content-Length: \(total - start)"] + range
            return LiveServerAnswer([
                .send(LiveServerAnswer.head(start > 0 ? 206 : 200, fields)), .pattern(from: start, count: length),
                .close,
            ])
        }
    }

    private static func impatient(_ attempts: Int = 2, tokens: Double = 0) throws -> SessionFixture {
        try SessionFixture(
            .with {
                $0.retry = RetryPolicy(attempts: attempts, base: .milliseconds(1), cap: .milliseconds(1))
                $0.budget = RetryBudgetPolicy(tokens: tokens, refillPerSecond: 0)
            })
    }

    @Test(
        "A download that each connection moves on by 16 KiB, or by 0.1 % of a small body, ends whole with any limit",
        arguments: [(part: 16_384, total: 600_000), (part: 20, total: 1000)] as [(part: Int64, total: Int64)])
    func parts(_ row: (part: Int64, total: Int64)) async throws {
        let scratch = try Scratch()
        let server = try Self.dropping(after: row.part, of: row.total)
        defer { server.stop() }
        let fixture = try Self.impatient()
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success, "\(result)")
        #expect(scratch.hasPattern("a", row.total))
        #expect(result.refetchedBytes == 0)
        #expect(server.requests.count == Int((row.total + row.part - 1) / row.part))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A part that is too small counts against the limit")
    func smallParts() async throws {
        let scratch = try Scratch()
        let server = try Self.dropping(after: 16_000, of: 100_000_000)
        defer { server.stop() }
        let fixture = try Self.impatient(3, tokens: 500)
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        #expect(await fixture.run(request).result().failure == .retriesExhausted)
        #expect(server.requests.count == 3)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A server that starts the body again each time uses the retries up, although it comes further each time")
    func startsAgain() async throws {
        let scratch = try Scratch()
        let server = try Self.dropping(after: 100_000, of: 100_000_000, fromStart: true)
        defer { server.stop() }
        let fixture = try Self.impatient(3, tokens: 500)
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let result = await fixture.run(request).result()
        #expect(result.failure == .retriesExhausted)
        // The first one brought something that could have been continued.
        #expect(server.requests.count == 4)
        #expect(result.attempts == 4)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A single attempt stays one, whatever it brings")
    func singleAttempt() async throws {
        let scratch = try Scratch()
        let server = try Self.dropping(after: 20_000, of: 100_000)
        defer { server.stop() }
        let fixture = try Self.impatient(1)
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        #expect(await fixture.run(request).result().outcome == .failure)
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Stalls after a part open no circuit")
    func stalls() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { request in
            let answer = LiveServerAnswer.pattern(400_000, for: request, slice: 50_000)
            return request.number < 8 ? LiveServerAnswer(Array(answer.steps.prefix(2)) + [.hang]) : answer
        }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with {
                $0.retry = RetryPolicy(attempts: 2, base: .milliseconds(1), cap: .milliseconds(1))
                $0.circuit.failures = 1
            })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        request.options.idleTimeout = .milliseconds(100)
        let result = await fixture.run(request).result()
        #expect(result.outcome == .success, "\(result)")
        #expect(scratch.hasPattern("a", 400_000))
        #expect(result.held[.circuit] == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Digests

    @Test("Sums are those of the standards' own examples")
    func sums() {
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        #expect(
            ContentDigest(of: []).description == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            ContentDigest(of: text("abc")).description
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            ContentDigest(of: million).description
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        #expect(MessageDigest.md5([]).hexadecimal == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(MessageDigest.md5(text("message digest")).hexadecimal == "f96b697d7cb7938d525a2f31aaf161d0")
        let long = String(repeating: "1234567890", count: 8)
        #expect(MessageDigest.md5(text(long)).hexadecimal == "57edf4a22be3c955ac49da2e2107b67a")
        var pieces = SHA256Digest()
        for start in stride(from: 0, to: million.count, by: 977) {
            pieces.update(Array(million[start..<min(start + 977, million.count)]))
        }
        let value = pieces.value
        #expect(value == MessageDigest.sha256(million))
        #expect(ContentDigest("xyz") == nil)
    }

    private static let right = ContentDigest(of: LiveServerAnswer.bytes(count: 200_000))
    private static let wrong = ContentDigest(of: [])

    enum Place: CaseIterable { case file, memory, discard, stream, descriptor }

    @Test(
        "A body with the right digest is taken and one with another is not, wherever it goes", arguments: Place.allCases
    )
    func verified(_ place: Place) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(200_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        for digest in [Self.right, Self.wrong] {
            let output = try ScratchOutput(scratch.file("out"))
            var request = try TaskRequest(url: server.url())
            request.options.sha256 = digest
            let stream = BodyStream(limit: 1 << 20)
            switch place {
            case .file: request.destination = .file(scratch.file("a"))
            case .memory: break
            case .discard: request.destination = .discard
            case .stream: request.destination = .stream(stream)
            case .descriptor: request.destination = .descriptor(output.descriptor)
            }
            let task = fixture.run(request)
            let result = await task.result()
            #expect(result.sha256 == Self.right.description)
            if digest == Self.right {
                #expect(result.outcome == .success)
                if place == .memory { #expect(task.body().count == 200_000) }
                if place == .file { #expect(scratch.names == ["a", "out"]) }
                scratch.remove("a")
            } else {
                #expect(result.failure == .digestMismatch)
                #expect(result.explanation?.contains("SHA-256 is \(Self.right) and not \(Self.wrong)") == true)
                #expect(task.body().isEmpty)
                #expect(scratch.names == ["out"])
            }
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What an earlier process left is summed up as well: a spoiled part is fetched anew, once")
    func continued() async throws {
        for isSpoiled in [false, true] {
            let scratch = try Scratch()
            let server = try Self.halfway()
            defer { server.stop() }
            let fixture = try SessionFixture()
            let data = try await Self.cancelled(server, scratch.file("a"), fixture)
            if isSpoiled { scratch.write([UInt8](repeating: 0, count: 150_000), to: ".a.tidegate") }
            let before = server.requests.count
            var request = try TaskRequest(resuming: data)
            request.options.sha256 = ContentDigest(of: LiveServerAnswer.bytes(count: 400_000))
            let task = fixture.run(request)
            let result = await task.result()
            #expect(result.outcome == .success, "\(result)")
            #expect(scratch.names == ["a"] && scratch.hasPattern("a", 400_000))
            let ranges = server.requests.dropFirst(before).map { $0.field("range") != nil }
            #expect(ranges == (isSpoiled ? [true, false] : [true]))
            #expect((result.refetchedBytes > 0) == isSpoiled)
            #expect(
                fixture.recorder.taskChanges(of: task.id).contains { if case .restarted = $0 { true } else { false } }
                    == isSpoiled)
            await fixture.session.invalidate(cancellingTasks: true)
        }
    }

    @Test("A body that has the wrong digest also when it comes whole fails, after one fetch from its start")
    func neverRight() async throws {
        let scratch = try Scratch()
        let server = try Self.halfway()
        defer { server.stop() }
        let fixture = try SessionFixture()
        let data = try await Self.cancelled(server, scratch.file("a"), fixture)
        let before = server.requests.count
        var request = try TaskRequest(resuming: data)
        request.options.sha256 = Self.wrong
        let result = await fixture.run(request).result()
        #expect(result.failure == .digestMismatch)
        #expect(server.requests.count == before + 2)
        #expect(scratch.names == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
