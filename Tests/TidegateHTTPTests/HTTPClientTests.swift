import FoundationEssentials
import HTTPTypes
import Synchronization
import Testing
@testable import TidegateCore
import TidegateHTTP
import TidegateSession
import TidegateSessionTestKit

extension DataResponseSerializer {
    fileprivate static var accepting404: DataResponseSerializer {
        var serializer = DataResponseSerializer()
        serializer.rules = [.status([404])]
        return serializer
    }
}

/// The client over a session, against a server on loopback.
@Suite(.timeLimit(.minutes(5)))
struct HTTPClientTests {
    private struct User: Codable, Hashable, Sendable { var id: Int, name: String }

    private static let json = "Content-Type: application/json"

    // MARK: - URLs

    @Test("Paths are joined with the base as AFNetworking joins them")
    func joining() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, fixture in
            #expect(client.baseURL == server.url("/v1/"))
            let other = try LiveServer { _ in .respond(204) }
            defer { other.stop() }
            for path in ["foo", "foo?bar=baz", "/foo", "foo/", "/foo/", "", "foo#f", other.url("/x")] {
                try await client.get(path)
            }
            #expect(
                server.requests.map(\.path)
                    == ["/v1/foo", "/v1/foo?bar=baz", "/foo", "/v1/foo/", "/foo/", "/v1/", "/v1/foo"])
            #expect(other.requests.map(\.path) == ["/x"])

            let free = try HTTPClient(session: fixture.session)
            #expect(free.baseURL == nil)
            try await free.get(server.url("/y"))
            #expect(server.requests.last?.path == "/y")
            let error = await #expect(throws: HTTPClientError.self) { try await free.get("y") }
            #expect(error?.description == #""y" is not an http:// or https:// URL"#)
            #expect(throws: TaskError.self) { try HTTPClient(baseURL: "ftp://h/", session: fixture.session) }
        }
    }

    @Test("User and password of the base go as credentials")
    func baseCredentials() async throws {
        try await withClient(answer: { _ in .respond(204) }) { _, server, fixture in
            let base = "http://user:secret@127.0.0.1:\(server.port)/v1?x"
            let client = try HTTPClient(baseURL: base, session: fixture.session)
            #expect(client.baseURL == server.url("/v1/?x"))
            try await client.get("a")
            #expect(server.requests.first?.path == "/v1/a")
            #expect(server.requests.first?.field("authorization") == "Basic dXNlcjpzZWNyZXQ=")
        }
    }

    // MARK: - Methods

    @Test("Every method, its parameters where they belong")
    func methods() async throws {
        try await withClient(answer: { _ in .respond(200) }) { client, server, _ in
            let parameters = ["b": "2 3", "a": "1"]
            try await client.get("x", parameters: parameters)
            try await client.head("x?c=0", parameters: parameters)
            try await client.delete("x", parameters: parameters)
            try await client.post("x", parameters: parameters)
            try await client.put("x", parameters: parameters)
            try await client.patch("x", json: parameters["a"])
            try await client.post("x")
            try await client.send("OPTIONS", "x")
            let seen = server.requests.map { "\($0.method) \($0.path) \(String(decoding: $0.body, as: UTF8.self))" }
            #expect(
                seen == [
                    "GET /v1/x?a=1&b=2%203 ", "HEAD /v1/x?c=0&a=1&b=2%203 ", "DELETE /v1/x?a=1&b=2%203 ",
                    "POST /v1/x a=1&b=2%203", "PUT /v1/x a=1&b=2%203", "PATCH /v1/x \"1\"", "POST /v1/x ",
                    "OPTIONS /v1/x ",
                ])
            #expect(server.requests[3].field("content-type") == "application/x-www-form-urlencoded")
            #expect(server.requests[5].field("content-type") == "application/json")
            #expect(server.requests[6].field("content-length") == "0")
        }
    }

    @Test("Typed calls decode what comes, and a result gives response, body and task")
    func typed() async throws {
        try await withClient(answer: { request in
            .respond(
                200, [Self.json],
                text: request.body.isEmpty ? #"{"id":1,"name":"A"}"# : String(decoding: request.body, as: UTF8.self))
        }) { client, _, fixture in
            let user = try await client.get("users/1", as: User.self)
            #expect(user == User(id: 1, name: "A"))
            #expect(
                try await client.post("users", json: User(id: 2, name: "B"), as: User.self) == User(id: 2, name: "B"))
            #expect(try await client.put("users", json: ["id": 3, "name": "C"] as JSONValue, as: User?.self)?.id == 3)

            let result = try await client.get("users/1")
            #expect(result.response.status == 200)
            #expect(result.task.response?.status == 200)
            #expect(fixture.session.task(withID: result.task.id) != nil)
            #expect(String(decoding: result.body, as: UTF8.self) == #"{"id":1,"name":"A"}"#)
            // Several serializers and rules on one response.
            #expect(try result.decoded(as: User.self) == user)
            #expect(try result.value(from: TextResponseSerializer()).hasPrefix("{"))
            #expect(try result.value(from: JSONResponseSerializer<JSONValue>())["id"] == 1)
            #expect(throws: Never.self) { try result.received.validate([.success, .contentType(["*/*"])]) }
            #expect(throws: ResponseSerializationError.self) { try result.value(from: XMLResponseSerializer()) }
        }
    }

    // MARK: - Header fields

    @Test("Fields of a call go before those of the client, and those before the session's")
    func headers() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, fixture in
            try fixture.session.defaultHeaders.set("X-Where", to: "session")
            try fixture.session.defaultHeaders.set("X-Session", to: "1")
            try client.headers.set("x-where", to: "client")
            try client.headers.set("X-Client", to: "1")
            try await client.get("a")
            try await client.get("a", headers: [HTTPField("X-WHERE", "call")])
            try client.headers.set("X-Where", to: nil)
            try await client.get("a")
            #expect(server.requests.map { $0.field("x-where") } == ["client", "call", "session"])
            #expect(server.requests.allSatisfy { $0.field("x-client") == "1" && $0.field("x-session") == "1" })
        }
    }

    @Test("Authorization is set and removed; what cannot be sent is refused without being quoted")
    func authorization() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, _ in
            try client.setAuthorization(Credentials(user: "user", password: "pass:wörd"))
            try await client.get("a")
            try client.setAuthorization(bearer: "t0ken")
            try await client.get("a")
            client.removeAuthorization()
            try await client.get("a")
            #expect(
                server.requests.map { $0.field("authorization") }
                    == ["Basic dXNlcjpwYXNzOnfDtnJk", "Bearer t0ken", nil])
            #expect(throws: TaskError.self) {
                try client.setAuthorization(Credentials(user: "a:b", password: "hunter2"))
            }
            let error = #expect(throws: TaskError.self) { try client.setAuthorization(bearer: "hunter2\r\nX: 1") }
            #expect(error?.underlying == "the value of the header Authorization contains a control character")
        }
    }

    @Test("Secrets of the client go to the origin of its base URL only, unless the call gives them or there is no base")
    func otherOrigins() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, fixture in
            let other = try LiveServer { _ in .respond(204) }
            defer { other.stop() }
            try client.setAuthorization(bearer: "t0ken")
            try client.headers.set("Cookie", to: "s=1")
            try client.headers.set("X-Kept", to: "1")
            try await client.get(server.url("/x"))
            try await client.get(other.url("/x"))
            try await client.get(other.url("/x"), headers: [try HTTPField("Authorization", "Bearer own")])
            #expect(server.requests.map { $0.field("authorization") } == ["Bearer t0ken"])
            #expect(server.requests.map { $0.field("cookie") } == ["s=1"])
            #expect(other.requests.map { $0.field("authorization") } == [nil, "Bearer own"])
            #expect(other.requests.map { $0.field("cookie") } == [nil, nil])
            #expect(other.requests.map { $0.field("x-kept") } == ["1", "1"])
            let free = try HTTPClient(session: fixture.session)
            try free.setAuthorization(bearer: "t0ken")
            try await free.get(other.url("/x"))
            #expect(other.requests.last?.field("authorization") == "Bearer t0ken")
        }
    }

    @Test("Header fields are set and removed by many at once")
    func concurrentHeaders() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, _, _ in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        try? client.headers.set("X-\(number % 10)", to: number % 3 == 0 ? nil : "\(number)")
                        if number.isMultiple(of: 2) {
                            client.removeAuthorization()
                        } else {
                            try? client.setAuthorization(bearer: "\(number)")
                        }
                        _ = client.headers.all
                    }
                }
            }
            try client.headers.set("X-0", to: "last")
            #expect(client.headers.value("x-0") == "last")
            #expect(client.headers.all.count <= 11)
        }
    }

    // MARK: - Errors

    @Test("A request that cannot be serialized fails without a task")
    func unserializable() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, fixture in
            let parameters = ["ratio": Double.nan]
            for content in [HTTPContent.json(parameters), .parameters(parameters), .parameters([1])] {
                let error = await #expect(throws: HTTPClientError.self) {
                    try await client.send("POST", "a", content)
                }
                guard case .request? = error else {
                    Issue.record("\(String(describing: error)) is no error of serialization")
                    continue
                }
            }
            let called = Latch()
            let failure = Mutex<HTTPClientError?>(nil)
            let task = client.get("a", parameters: parameters) { result in
                // Not before the call has returned.
                while !called.isOpen { Latch.yieldThread() }
                if case .failure(let error) = result { failure.withLock { $0 = error } }
            }
            #expect(task == nil)
            called.open()
            #expect(await fixture.wait { failure.withLock { $0 != nil } })
            #expect(failure.withLock { $0 }?.description == "the parameter ratio is not a finite number")
            #expect(fixture.session.tasks().isEmpty)
            #expect(server.requests.isEmpty)
        }
    }

    @Test("A refused status is an error with the body; one that is accepted is a result")
    func status() async throws {
        let answer: @Sendable (LiveServerRequest) -> LiveServerAnswer = { _ in
            .respond(404, [Self.json], text: #"{"id":7,"name":"gone"}"#)
        }
        try await withClient(answer: answer) { client, _, _ in
            let error = await #expect(throws: HTTPClientError.self) { try await client.get("a", as: User.self) }
            guard case .response(let refusal)? = error else {
                Issue.record("\(String(describing: error)) is no error of the response")
                return
            }
            #expect(refusal.reason == .status(404))
            #expect(refusal.description == "the status is 404")
            let gone = try JSONResponseSerializer<User>().decode(refusal.response)
            #expect(gone.name == "gone")
        }
        var configuration = HTTPClientConfiguration()
        configuration.rules = [.status([200, 404])]
        try await withClient(configuration, answer: answer) { client, _, _ in
            let user = try await client.get("a", as: User.self)
            #expect(user.id == 7)
        }
    }

    @Test("A wrong type and a body that is not JSON are errors that name the rule and keep the body")
    func wrongBody() async throws {
        try await withClient(answer: { request in
            request.path.hasSuffix("html")
                ? .respond(200, ["Content-Type: text/html"], text: "<p>") : .respond(200, [Self.json], text: "{x")
        }) { client, _, _ in
            for (path, reason) in [
                ("html", .contentType("text/html", acceptable: ["application/json", "text/javascript", "text/json"])),
                ("json", .invalidJSON(JSONError(kind: .invalidStructure, offset: 1))),
            ] as [(String, ResponseSerializationError.Reason)] {
                let error = await #expect(throws: HTTPClientError.self) { try await client.get(path, as: User.self) }
                guard case .response(let failure)? = error else {
                    Issue.record("\(String(describing: error)) is no error of the response")
                    continue
                }
                #expect(failure.reason == reason)
                #expect(!failure.response.body.isEmpty)
            }
        }
    }

    // MARK: - Response serializers

    @Test("The client's serializer decodes typed values, and its rules apply")
    func responseSerializer() async throws {
        struct Item: Codable, Hashable, Sendable { var itemId: Int? }
        var json = JSONResponseSerializer<JSONValue>()
        json.decoder.keyDecodingStrategy = .convertFromSnakeCase
        json.removesNulls = true
        json.rules = [.success, .contentType(["application/vnd.tide+json"])]
        let type = "Content-Type: application/vnd.tide+json"
        var configuration = HTTPClientConfiguration()
        configuration.responseSerializer = json
        configuration.rules = [.status([200, 404])]
        try await withClient(
            configuration,
            answer: { request in
                let text = #"{"item_id":7,"list":[1,null]}"#
                return request.path.hasSuffix("json")
                    ? .respond(200, [Self.json], text: text) : .respond(404, [type], text: text)
            }
        ) { client, _, _ in
            #expect(try await client.get("a", as: Item.self) == Item(itemId: 7))
            let result = try await client.get("a")
            #expect(try result.value() as? JSONValue == ["item_id": 7, "list": [1]])
            #expect(try result.value(from: DataResponseSerializer.accepting404).count == 29)
            let error = await #expect(throws: HTTPClientError.self) { try await client.get("json", as: Item.self) }
            #expect(error?.description.contains("expected application/vnd.tide+json") == true)
        }
    }

    @Test("A client may expect property lists, or one type only")
    func otherSerializers() async throws {
        var configuration = HTTPClientConfiguration()
        configuration.responseSerializer = PropertyListResponseSerializer<[String: String]>()
        let list = "<plist><dict><key>id</key><integer>1</integer><key>name</key><string>A</string></dict></plist>"
        try await withClient(
            configuration,
            answer: { _ in
                .respond(200, ["Content-Type: application/x-plist"], text: list)
            }
        ) { client, _, _ in
            let user = try await client.get("a", as: User.self)
            #expect(user == User(id: 1, name: "A"))
        }
        configuration.responseSerializer = TextResponseSerializer()
        try await withClient(configuration, answer: { _ in .respond(200, [Self.json], text: #""x""#) }) {
            client, _, _ in
            let text = try await client.get("a", as: String.self)
            #expect(text == #""x""#)
            let result = try await client.get("a")
            #expect(try result.value() as? String == text)
            #expect(try result.value(from: JSONResponseSerializer<String>()) == "x")
            let error = await #expect(throws: HTTPClientError.self) { try await client.get("a", as: User.self) }
            #expect(error?.description == "TextResponseSerializer makes no User")
        }
    }

    // MARK: - Text

    @Test("Text is sent in its charset, which the content type names")
    func text() async throws {
        try await withClient(answer: { _ in .respond(204) }) { client, server, fixture in
            try await client.send("POST", "a", .text("Köln"))
            try await client.send("PUT", "a", .text("Köln", charset: .latin1))
            try await client.send(
                "PUT", "a", .text("é", charset: .utf16), headers: [HTTPField("Content-Type", "text/x; charset=utf-16")])
            #expect(
                server.requests.map(\.body) == [
                    Array("Köln".utf8), [0x4B, 0xF6, 0x6C, 0x6E], [0xFE, 0xFF, 0x00, 0xE9],
                ])
            #expect(
                server.requests.map { $0.field("content-type") }
                    == ["text/plain; charset=UTF-8", "text/plain; charset=ISO-8859-1", "text/x; charset=utf-16"])
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send("POST", "a", .text("5 €", charset: .latin1))
            }
            #expect(error?.description == "the text has a character that ISO-8859-1 lacks")
            #expect(server.requests.count == 3 && fixture.session.tasks().count == 3)
        }
    }

    @Test("A server that is not there is an error of the task")
    func refusedConnection() async throws {
        let port = try FreePort.find()
        let fixture = try SessionFixture(.with { $0.retry = RetryPolicy(attempts: 1) })
        let client = try HTTPClient(baseURL: "http://127.0.0.1:\(port)", session: fixture.session)
        let error = await #expect(throws: HTTPClientError.self) { try await client.get("a") }
        guard case .task(let failure)? = error else {
            Issue.record("\(String(describing: error)) is no error of the task")
            return
        }
        #expect(failure.reason == .connectFailed || failure.reason == .retriesExhausted)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
