import Foundation
import HTTPTypes
import Testing
@testable import TidegateCore
import TidegateSession
import TidegateSessionTestKit

@testable import TidegateHTTP

@Suite(.enabled(if: HARSchema.isAvailable, "python3-jsonschema is not installed"), .timeLimit(.minutes(5)))
struct HTTPArchiveTests {
    private static let creator = (name: "test", version: "1")

    private static func entries(_ archive: HTTPArchive) async throws -> [[String: Any]] {
        #expect(try await HARSchema.problems(in: archive.text) == [])
        let object = try JSONSerialization.jsonObject(with: Data(archive.text.utf8)) as? [String: Any]
        let log = try #require(object?["log"] as? [String: Any])
        return try #require(log["entries"] as? [[String: Any]])
    }

    private static func value(_ entry: [String: Any], _ path: String) -> Any? {
        path.split(separator: ".").reduce(entry as Any?) { object, name in
            (object as? [String: Any])?[String(name)]
        }
    }

    private static func header(_ entry: [String: Any], _ part: String, _ name: String) -> String? {
        let headers = self.value(entry, "\(part).headers") as? [[String: String]] ?? []
        return headers.first { $0["name"]?.lowercased() == name }?["value"]
    }

    private func recordingFixture() throws -> SessionFixture {
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(attempts: 2, base: .milliseconds(1))
        configuration.recordsExchanges = true
        return try SessionFixture(configuration)
    }

    @Test("Tasks that follow each other over one connection have their own lines")
    func ownLines() async throws {
        let server = try LiveServer { request in
            .respond(200, ["Content-Type: text/plain", "X-Number: \(request.number)"], text: "done")
        }
        defer { server.stop() }
        let fixture = try self.recordingFixture()
        for number in 1...3 {
            let task = fixture.run(try TaskRequest(url: server.url("/\(number)")))
            #expect(await task.result().outcome == .success)
            let lines = task.exchanges.flatMap(\.lines)
            #expect(lines.first { $0.kind == .sent }?.text == "GET /\(number) HTTP/1.1")
            #expect(lines.map(\.text).filter { $0.hasPrefix("X-Number") } == ["X-Number: \(number)"])
            #expect(lines.last { $0.kind == .received }?.text == "")
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Every hop and every attempt is an entry with what was sent and received, valid by the schema of HAR 1.2")
    func hops() async throws {
        let server = try LiveServer { request in
            switch request.number {
            case 1: .respond(302, ["Location: /next?state=abc", "Set-Cookie: sid=1; Path=/"])
            case 2: .respond(503, ["Retry-After: 0"], text: "busy")
            default: .respond(200, ["Content-Type: text/plain"], text: "done")
            }
        }
        defer { server.stop() }
        let fixture = try self.recordingFixture()
        let task = fixture.run(
            try TaskRequest(
                url: server.url("/?q=1"), headers: [HTTPField("Authorization", "Bearer abc"), HTTPField("X-Tag", "7")]))
        #expect(await task.result().outcome == .success)
        let entries = try await Self.entries(task.archive(showingSecrets: true))
        #expect(entries.count == server.requests.count)
        #expect(entries.compactMap { Self.value($0, "response.status") as? Int } == [302, 503, 200])
        for (entry, request) in zip(entries, server.requests) {
            #expect(Self.value(entry, "request.method") as? String == request.method)
            #expect(Self.value(entry, "request.url") as? String == server.url(request.path))
            let headers = Self.value(entry, "request.headers") as? [[String: String]] ?? []
            #expect(
                headers.map { "\($0["name"] ?? ""): \($0["value"] ?? "")" }
                    == request.fields.map { "\($0.name.rawName): \($0.value)" })
            #expect(Self.value(entry, "request.httpVersion") as? String == "HTTP/1.1")
            #expect(Self.value(entry, "serverIPAddress") as? String == "127.0.0.1")
        }
        let first = try #require(entries.first)
        #expect(Self.value(first, "response.redirectURL") as? String == "/next?state=abc")
        #expect((Self.value(first, "response.cookies") as? [[String: String]])?.first == ["name": "sid", "value": "1"])
        let query = Self.value(first, "request.queryString") as? [[String: String]]
        #expect(query == [["name": "q", "value": "1"]])
        let last = try #require(entries.last)
        #expect(Self.value(last, "response.content.text") as? String == "done")
        #expect(Self.value(last, "response.statusText") as? String == "Test")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("By default no secret is in an archive, whatever the case of its name")
    func secrets() async throws {
        let server = try LiveServer { _ in
            .respond(200, ["SET-COOKIE: sid=hidden1", "Location: http://u:hidden2@h/?x=hidden3"], text: "hidden7")
        }
        defer { server.stop() }
        let fixture = try self.recordingFixture()
        let url = "http://me:hidden4@127.0.0.1:\(server.port)/hidden00hidden00hidden00/p?apiKey=hidden5&page"
        let names = ["AUTHORIZATION", "proxy-authorization", "cookie", "X-Api-Key", "x-amz-security-TOKEN"]
        let task = fixture.run(
            try TaskRequest(
                url: url, method: "POST", headers: try names.map { try HTTPField($0, "a=hidden6") },
                body: .data(Array("hidden8".utf8))))
        #expect(await task.result().outcome == .success)
        let text = task.archive().text
        #expect(!text.contains("hidden") && !text.contains("page") && text.contains("apiKey=REDACTED&REDACTED"))
        #expect(!task.curlCommand().line.contains("hidden"))
        #expect(!task.exchanges.flatMap(\.redactedLines).contains { $0.text.contains("hidden") })
        #expect(task.archive(showingSecrets: true).text.contains("hidden6"))
        #expect(try await HARSchema.problems(in: text) == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Bodies are in an archive as text or Base64, and a body that is not kept is marked as missing")
    func bodies() async throws {
        let server = try LiveServer { request in .respond(200, body: [0xFF, UInt8(request.body.count & 0xFF)]) }
        defer { server.stop() }
        let fixture = try self.recordingFixture()
        func entry(_ body: RequestBody) async throws -> [String: Any] {
            let task = fixture.run(try TaskRequest(url: server.url(), method: "POST", body: body))
            #expect(await task.result().outcome == .success)
            return try #require(try await Self.entries(task.archive(showingSecrets: true)).first)
        }
        let text = try await entry(.data(Array("a=b&c".utf8)))
        #expect(Self.value(text, "request.postData.text") as? String == "a=b&c")
        #expect(Self.value(text, "request.bodySize") as? Int == 5)
        #expect(Self.value(text, "response.content.text") as? String == Data([0xFF, 5]).base64EncodedString())
        #expect(Self.value(text, "response.content.encoding") as? String == "base64")
        let bytes = try await entry(.data([0xFF, 0]))
        #expect(Self.value(bytes, "request.postData.text") as? String == "/wA=")
        let stream = try await entry(.stream(UploadStream(length: 0) { nil }))
        #expect(Self.value(stream, "request.postData.comment") as? String == "the body is not kept")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A refused connection is an entry without a response")
    func refused() async throws {
        let server = try LiveServer { _ in .respond(text: "") }
        let url = server.url()
        server.stop()
        let fixture = try self.recordingFixture()
        let task = fixture.run(try TaskRequest(url: url))
        #expect(await task.result().failure != nil)
        let entries = try await Self.entries(task.archive())
        #expect(entries.count == 2)
        #expect(Self.value(entries[0], "response.status") as? Int == 0)
        #expect(Self.value(entries[0], "timings.wait") as? Double == -1)
        #expect((Self.value(entries[0], "comment") as? String)?.hasPrefix("attempt 1: could not connect") == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Timings are in milliseconds, the handshake is a part of connect, and what is not known is -1")
    func timings() async throws {
        let everyPhase = PhaseDurations(
            resolve: .milliseconds(10), connect: .milliseconds(20), tls: .microseconds(30_500),
            processing: .milliseconds(400), transfer: .milliseconds(500), sending: .milliseconds(150))
        func timings(_ phases: PhaseDurations) async throws -> [String: Double] {
            let summary = AttemptSummary(
                number: 1, method: "GET", status: 200, duration: .milliseconds(1000), phases: phases)
            let exchange = Exchange(
                number: 1, method: "GET", url: "http://h/", started: WallTime(microseconds: 0), summary: summary)
            let entry = try #require(try await Self.entries(HTTPArchive([exchange], creator: Self.creator)).first)
            var timings = try #require(Self.value(entry, "timings") as? [String: Double])
            timings["time"] = try #require(Self.value(entry, "time") as? Double)
            return timings
        }
        #expect(
            try await timings(everyPhase) == [
                "blocked": 39.5, "dns": 10, "connect": 50.5, "ssl": 30.5, "send": 150, "wait": 250, "receive": 500,
                "time": 1000,
            ])
        #expect(
            try await timings(PhaseDurations(processing: .milliseconds(400), transfer: .milliseconds(600))) == [
                "blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 400, "receive": 600, "time": 1000,
            ])
        #expect(
            try await timings(PhaseDurations(connect: .milliseconds(20))) == [
                "blocked": -1, "dns": -1, "connect": 20, "ssl": -1, "send": -1, "wait": -1, "receive": -1, "time": 20,
            ])
    }

    @Test("Without being asked to, a session records nothing")
    func notRecorded() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url()))
        _ = await task.result()
        #expect(task.exchanges.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
