internal import HTTPTypes
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Requests and their bodies")
struct BodyTests {
    @Test("Fields, agent and credentials stand on the wire as given, and nothing is added")
    func fields() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url())
        request.headers = [try HTTPField("X-Tide", "high"), try HTTPField("Accept", "")]
        request.userAgent = "tidegate/1"
        request.credentials = Credentials(user: "me", password: "you")
        _ = try AttemptRecorder().run(request)
        let received = try #require(server.requests.first)
        #expect(
            received.fields.map(\.name.rawName).sorted() == ["Accept", "Authorization", "Host", "User-Agent", "X-Tide"])
        #expect(received.field("accept") == "")
        #expect(received.field("authorization") == "Basic bWU6eW91")
        #expect(received.field("user-agent") == "tidegate/1")
    }

    @Test("Each method goes out unchanged, with a length if an empty body means something")
    func methods() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let lengths = ["GET": nil, "HEAD": nil, "DELETE": nil, "OPTIONS": nil, "POST": "0", "PUT": "0", "PATCH": "0"]
        for (number, method) in lengths.keys.sorted().enumerated() {
            var request = try AttemptRequest(UInt64(number), server.url())
            request.method = method
            #expect(try recorder.run(request).failure == nil)
            let received = try #require(server.requests.last)
            #expect(received.method == method)
            #expect(received.field("content-length") == lengths[method] ?? nil)
            #expect(received.field("expect") == nil)
        }
    }

    @Test("A body in memory arrives whole, and only a large one asks first", arguments: [0, 1, 1000, 3_000_000])
    func bytes(count: Int64) throws {
        let server = try LiveServer { _ in .respond(201) }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url())
        request.method = "POST"
        request.body = .bytes(LiveServerAnswer.bytes(count: count))
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == nil)
        #expect(outcome.progress.sent == count)
        #expect(server.requests.first?.body == LiveServerAnswer.bytes(count: count))
        #expect((server.requests.first?.field("expect") != nil) == (count > 1 << 20))
    }

    @Test("A file is sent from its start, as long as it was said to be")
    func file() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let folder = try Folder()
        folder.write("up", LiveServerAnswer.bytes(count: 200_000))
        var request = try AttemptRequest(1, server.url())
        request.method = "PUT"
        request.body = .file(FileLocation(folder.path("up")), length: 150_000)
        #expect(try AttemptRecorder().run(request).failure == nil)
        #expect(server.requests.first?.body == LiveServerAnswer.bytes(count: 150_000))
    }

    @Test("A file that became shorter is a changed body; one that is not there is a file error, and nothing is sent")
    func badFile() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let folder = try Folder()
        folder.write("up", LiveServerAnswer.bytes(count: 1000))
        let recorder = try AttemptRecorder()
        var request = try AttemptRequest(1, server.url())
        request.method = "PUT"
        request.body = .file(FileLocation(folder.path("up")), length: 2000)
        #expect(try recorder.run(request).failure == .bodyChanged)
        request.id = AttemptID(2)
        request.body = .file(FileLocation(folder.path("none")), length: 2000)
        let outcome = try recorder.run(request)
        #expect(outcome.failure == .fileError)
        #expect(outcome.text.contains(folder.path("none")))
        #expect(!outcome.reachedWire)
        #expect(server.requests.isEmpty)
    }

    /// Answers the first request of every connection and drops the connection at the second.
    private static func trap() throws -> LiveServer {
        let seen = SeenConnections()
        return try LiveServer { request in
            seen.isFirst(request.connection) ? .respond(text: "x") : LiveServerAnswer([.close])
        }
    }

    @Test("A request on a kept connection that breaks is sent once", arguments: ["GET", "PUT", "POST", "DELETE"])
    func keptConnectionBreaks(_ method: String) throws {
        let server = try BodyTests.trap()
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        _ = try recorder.run(AttemptRequest(1, server.url()))
        var request = try AttemptRequest(2, server.url("/again"))
        request.method = method
        if method != "GET" { request.body = .bytes(Array("coin".utf8)) }
        let outcome = try recorder.run(request)
        #expect(outcome.failure == .reset)
        #expect(outcome.text == "the server closed a kept connection after the request had been sent")
        #expect(outcome.curlFailureClass == nil)
        #expect(outcome.reachedWire)
        #expect(outcome.wireTries == 1)
        #expect(server.requests.filter { $0.path == "/again" }.count == 1)
    }

    @Test("A request that is refused with 417 is not sent again without its client")
    func expectationFailed() throws {
        let server = try LiveServer { $0.field("expect") == nil ? .respond(text: "x") : .respond(417) }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url())
        request.method = "POST"
        request.body = .bytes(Array(repeating: 1, count: 2 << 20))
        let recorder = try AttemptRecorder()
        let refused = try recorder.run(request)
        #expect(refused.failure == .httpStatus)
        #expect(refused.head?.status == 417)
        #expect(server.requests.count == 1)
        request.id = AttemptID(2)
        request.awaitsContinue = false
        #expect(try recorder.run(request).failure == nil)
        #expect(server.requests.map { $0.field("expect") } == ["100-continue", nil])
    }
}

/// Remembers which connections have been used.
private final class SeenConnections: Sendable {
    private let numbers = Mutex<Set<Int>>([])

    func isFirst(_ number: Int) -> Bool { self.numbers.withLock { $0.insert(number).inserted } }
}
