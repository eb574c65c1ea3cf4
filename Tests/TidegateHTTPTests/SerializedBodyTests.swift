import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateHTTP
import TidegateSession
import TidegateSessionTestKit

/// Bodies that serializers made, on the wire.
@Suite(.timeLimit(.minutes(5)))
struct SerializedBodyTests {
    private let file = LiveServerAnswer.bytes(count: 300_000)

    private func form(_ scratch: Scratch, streamLength: Int64?) -> MultipartForm {
        scratch.write(self.file, to: "photo.png")
        var form = MultipartForm()
        form.append(.data(Array("v".utf8)), name: "k")
        form.append(.file(scratch.file("photo.png")), name: "photo")
        let rest = Mutex([[UInt8](repeating: 1, count: 70_000), [], [2, 3]])
        form.append(
            .stream(length: streamLength) { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }, name: "s")
        return form
    }

    private func expected(_ form: MultipartForm) -> [UInt8] {
        func head(_ text: String) -> [UInt8] {
            Array("--\(form.boundary)\r\nContent-Disposition: form-data; \(text)\r\n\r\n".utf8)
        }
        var body = head("name=\"k\"") + Array("v\r\n".utf8)
        body += head("name=\"photo\"; filename=\"photo.png\"\r\nContent-Type: image/png") + self.file + [13, 10]
        body += head("name=\"s\"") + [UInt8](repeating: 1, count: 70_000) + [2, 3, 13, 10]
        return body + Array("--\(form.boundary)--\r\n".utf8)
    }

    private func request(_ server: LiveServer, _ form: MultipartForm) throws -> TaskRequest {
        try TaskRequest(SerializedRequest(method: "POST", url: server.url("/"), body: .multipart(form)))
    }

    @Test("A form of bytes, a file and a stream, with a length if all have one", arguments: [70_002, nil] as [Int64?])
    func multipart(length: Int64?) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (fixture, scratch) = (try SessionFixture(), try Scratch())
        let form = self.form(scratch, streamLength: length)
        let expected = self.expected(form)
        let result = await fixture.run(try self.request(server, form)).result()
        #expect(result.outcome == .success)
        let request = try #require(server.requests.first)
        #expect(request.body.elementsEqual(expected))
        #expect(request.field("content-type") == form.contentType)
        #expect(request.field("content-length") == length.map { _ in "\(expected.count)" })
        #expect(request.field("transfer-encoding") == (length == nil ? "chunked" : nil))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A stream that is shorter or longer than its length fails the task", arguments: [70_001, 70_003] as [Int64])
    func wrongLength(length: Int64) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (fixture, scratch) = (try SessionFixture(), try Scratch())
        let task = fixture.run(try self.request(server, self.form(scratch, streamLength: length)))
        let result = await task.result()
        #expect(result.failure == .bodyChanged)
        #expect(result.explanation?.contains("a part's stream gave 7000") == true)
        #expect(server.requests.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A form of data alone is bytes, and can be sent again after a failure")
    func dataAlone() async throws {
        let server = try LiveServer { $0.number == 1 ? .respond(503, ["Retry-After: 0"]) : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var form = MultipartForm()
        form.append(.data([1, 2]), name: "k", fileName: "k.zip")
        var request = try self.request(server, form)
        request.options.isMarkedIdempotent = true
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(server.requests.count == 2)
        #expect(server.requests[0].body == server.requests[1].body)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A file that cannot be read is known before there is a task")
    func missingFile() throws {
        let scratch = try Scratch()
        var form = MultipartForm()
        form.append(.file(scratch.file("absent")), name: "f")
        let serialized = SerializedRequest(method: "POST", url: "http://h/", body: .multipart(form))
        let error = #expect(throws: TaskError.self) { try TaskRequest(serialized) }
        #expect(error?.reason == .fileError)
        #expect(error?.underlying == "\(scratch.file("absent")): stat: No such file or directory")
    }

    @Test("A file that is another one when it is its turn fails the task")
    func changedFile() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (fixture, scratch) = (try SessionFixture(), try Scratch())
        let request = try self.request(server, self.form(scratch, streamLength: nil))
        scratch.write([1, 2, 3], to: "photo.png")
        let result = await fixture.run(request).result()
        #expect(result.failure == .bodyChanged)
        #expect(result.explanation?.contains("photo.png changed while it was being sent") == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A throttled stream has small pieces with a pause between two")
    func throttle() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let clock = CountingClock()
        let pieces = SessionFixture.stream([[UInt8](repeating: 7, count: 2500), [1], []], length: 2501)
            .throttled(bytes: 1000, every: .seconds(60), clock: clock)
        let request = try TaskRequest(url: server.url("/"), method: "POST", body: .stream(pieces))
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(server.requests.first?.body == [UInt8](repeating: 7, count: 2500) + [1])
        #expect(clock.sleeps == [.seconds(60), .seconds(60), .seconds(60)])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Compressed bodies of every kind are the same bytes again", arguments: ["data", "file", "stream"])
    func gzip(kind: String) async throws {
        // The answer is the request's own body, which the session decodes.
        let server = try LiveServer { .respond(200, ["Content-Encoding: gzip"], body: $0.body) }
        defer { server.stop() }
        let (fixture, scratch) = (try SessionFixture(), try Scratch())
        scratch.write(self.file, to: "body")
        let body: RequestBody =
            switch kind {
            case "data": .data(self.file)
            case "file": .file(scratch.file("body"))
            default: .stream(SessionFixture.stream([Array(self.file[..<1000]), [], Array(self.file[1000...])]))
            }
        var request = try TaskRequest(
            url: server.url("/"), method: "PUT", headers: [HTTPField(name: .contentEncoding, value: "gzip")],
            body: body.gzipped())
        request.options.acceptsCompression = true
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        #expect(task.body().elementsEqual(self.file))
        let sent = try #require(server.requests.first)
        #expect(sent.body.count < self.file.count / 2)
        #expect(sent.field("content-encoding") == "gzip")
        await fixture.session.invalidate(cancellingTasks: true)
    }
}

/// A clock on which every sleep is over at once, and is counted.
private final class CountingClock: Clock {
    let minimumResolution = Duration.zero
    private let state = Mutex<[Duration]>([])

    var now: ContinuousClock.Instant { ContinuousClock().now }
    var sleeps: [Duration] { self.state.withLock { $0 } }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let rest = self.now.duration(to: deadline)
        self.state.withLock { $0.append(.seconds(rest.components.seconds + 1)) }
    }
}
