import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Answers that are not what they say.
@Suite(.timeLimit(.minutes(5)))
struct AnswerTests {
    private static func fixture() throws -> SessionFixture {
        try SessionFixture(
            .with { $0.retry = RetryPolicy(attempts: 3, base: .milliseconds(5), cap: .milliseconds(10)) })
    }

    @Test("A final status is final although its page is cut off")
    func cutPage() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(404, ["Content-Length: 100"])), .pattern(from: 0, count: 10), .close,
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .httpStatus)
        #expect(result.status == 404)
        #expect(result.explanation == "\(server.url()): the server answered 404")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A status worth another try is tried again however large its page is")
    func largePage() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(503, ["Content-Length: 4000000"])), .pattern(from: 0, count: 4_000_000),
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .retriesExhausted)
        #expect(server.requests.count == 3)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Lengths that add up to more than a number holds are counted as the largest")
    func longestLength() async throws {
        let server = try LiveServer { _ in
            let head = LiveServerAnswer.head(200, ["Content-Length: 9223372036854775807"])
            return LiveServerAnswer([.send(head), .pattern(from: 0, count: 1000), .hang])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .discard
        let tasks = [fixture.run(request), fixture.run(request)]
        #expect(await fixture.wait { tasks.allSatisfy { $0.currentProgress.expected != nil } })
        let statistics = fixture.session.statistics()
        #expect(statistics.expectedBytes == [.data: .max])
        #expect(statistics.transferredBytes == [.data: 2000])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An answer's head is a sign of life")
    func slowHead() async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .wait(milliseconds: 5000), .send(LiveServerAnswer.head(200, ["Content-Length: 10"])),
                .wait(milliseconds: 5000), .pattern(from: 0, count: 10),
            ])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.options.idleTimeout = .seconds(8)
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Half an encoded body is the server's failure, and the sentence says what it is")
    func halfEncoded() async throws {
        let half = Array(GzipSample.bytes.dropLast(20))
        let server = try LiveServer { _ in .respond(200, ["Content-Encoding: gzip"], body: half) }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.options.acceptsCompression = true
        let result = await fixture.run(request).result()
        #expect(result.failure == .protocolError)
        #expect(result.attribution?.party == .theirs)
        #expect(result.explanation == "\(server.url()): the gzip body ends in the middle")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body larger than the limit is this host's failure, and the sentence names both")
    func tooLarge() async throws {
        let server = try LiveServer { _ in .respond(200, body: [UInt8](repeating: 0, count: 2000)) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { $0.maxBodyBytes = 1000 })
        var request = try TaskRequest(url: server.url())
        let result = await fixture.run(request).result()
        #expect(result.failure == .tooLarge)
        #expect(result.attribution?.party == .mine)
        #expect(result.explanation == "\(server.url()): the body of 2000 bytes is larger than the limit of 1000")
        #expect(server.requests.count == 1)
        request.options.maxBodyBytes = 2000
        #expect(await fixture.run(request).result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A status that HTTP does not have is the server's failure", arguments: [600, 666, 999])
    func unknownStatus(_ status: Int) async throws {
        let server = try LiveServer { _ in .respond(status, text: "tide") }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .protocolError)
        #expect(result.attribution?.party == .theirs)
        let clause = "the server answered with the status \(status), which is not an HTTP status (100 to 599)"
        #expect(result.explanation == "\(server.url()): \(clause)")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A server that switches protocols unasked breaks HTTP, whether bytes follow or not", arguments: ["", "hi"])
    func switchedProtocols(_ rest: String) async throws {
        let server = try LiveServer { _ in
            let head = LiveServerAnswer.head(101, ["Upgrade: websocket", "Connection: Upgrade"])
            return LiveServerAnswer([.send(head + Array(rest.utf8)), .hang])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.failure == .protocolError)
        #expect(result.attribution?.party == .theirs)
        let clause = "the server switched to another protocol (101) instead of answering"
        #expect(result.explanation == "\(server.url()): \(clause)")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A malformed response is described by what the server did",
        arguments: [
            (
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5",
                "the server sent a part that was not requested (206)"
            ), ("HTTP/1.1  200 OK\r\nContent-Length: 5", "the server's status line is malformed: \"HTTP/1.1  200 OK\""),
            (
                "HTTP/1.1  200 a\u{1B}[31m very long reason\r\nContent-Length: 5",
                "the server's status line is malformed: \"HTTP/1.1  200 a[31m very\""
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5",
                "the lengths that the server announces contradict each other (Content-Length: 2 and 5)"
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5, 2",
                "the lengths that the server announces contradict each other (Content-Length: 5 and 2)"
            ),
        ])
    func malformed(_ head: String, _ clause: String) async throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(Array("\(head)\r\n\r\nhello".utf8)), .close])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .discard
        let result = await fixture.run(request).result()
        #expect(result.failure == .protocolError)
        #expect(result.attribution?.party == .theirs)
        #expect(result.explanation == "\(server.url()): \(clause)")
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Lengths that contradict each other are ignored where no body is delimited by them", arguments: [200, 204])
    func unusedLengths(_ status: Int) async throws {
        let lengths = ["Content-Length: 2", "Content-Length: 5"]
        let server = try LiveServer { _ in
            let head = LiveServerAnswer.head(status, status == 204 ? lengths : lengths + ["Transfer-Encoding: chunked"])
            return LiveServerAnswer([.send(head + (status == 204 ? [] : Array("2\r\nhi\r\n0\r\n\r\n".utf8)))])
        }
        defer { server.stop() }
        let fixture = try Self.fixture()
        let result = await fixture.run(try TaskRequest(url: server.url())).result()
        #expect(result.outcome == .success, "\(result.explanation ?? "")")
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
