import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateHTTP
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// Servers are asked about stored responses (RFC 9110 section 13, RFC 9111 section 4.3).
@Suite(.timeLimit(.minutes(5)))
struct RevalidationTests {
    // MARK: - Bodies in memory

    @Test(
        "A 304 gives the stored body with newer fields, in another session on the same directory, too",
        arguments: ["ETag: \"1\"", "ETag: W/\"1\"", "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT"])
    func notModified(_ validator: String) async throws {
        let folder = try Scratch()
        let origin = try VersionedServer(
            .init(
                validator: validator,
                more: ["X-Kept: old", "X-New: old", "Set-Cookie: a=1", "Content-Type: text/plain"],
                onlyWhen304: ["X-New: new", "Content-Encoding: none", "Connection: X-Hop", "X-Hop: 1"]))
        defer { origin.server.stop() }
        let request = try TaskRequest(url: origin.server.url("/a?b"))
        for number in 1...3 {
            // Each with a store and a session of its own, as after a restart.
            // The session of before holds its own until its thread has ended.
            var opened: ValidatorStore?
            #expect(
                await eventually {
                    opened = try? ValidatorStore(directory: folder.file("store"))
                    return opened != nil
                })
            let store = try #require(opened)
            let fixture = try SessionFixture(storingIn: store)
            let (text, result, task) = await fixture.body(request)
            #expect(text == "one")
            #expect(result.outcome == .success && result.status == 200 && result.bytes == 3)
            #expect(result.isRevalidated == (number > 1))
            let response = try #require(task.response)
            #expect(response.status == 200)
            #expect(response.isRevalidated == (number > 1))
            #expect(response.field("x-kept") == "old")
            #expect(response.field("x-new") == (number > 1 ? "new" : "old"))
            #expect(response.field("content-length") == "3")
            #expect(response.field("content-encoding") == nil && response.field("x-hop") == nil)
            #expect(response.field("set-cookie") == (number > 1 ? nil : "a=1"))
            #expect(store.count == 1)
            await fixture.session.invalidate(cancellingTasks: true)
        }
        let value = String(validator.drop { $0 != ":" }.dropFirst(2))
        #expect(origin.conditions == [nil, value, value])
    }

    @Test("A changed response takes the stored one's place, and an app's handler sees which it was")
    func changed() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        let client = try HTTPClient(baseURL: origin.server.url(), session: fixture.session)
        func get() async throws -> String {
            let result = try await client.get("a")
            return String(decoding: result.body, as: UTF8.self) + (result.response.isRevalidated ? ", stored" : "")
        }
        #expect(try await get() == "one")
        #expect(try await get() == "one, stored")
        origin.change { ($0.text, $0.validator) = ("two", "ETag: \"2\"") }
        #expect(try await get() == "two")
        #expect(try await get() == "two, stored")
        let seen = await withCheckedContinuation { continuation in
            client.get("a") { continuation.resume(returning: (try? $0.get())?.response.isRevalidated) }
        }
        #expect(seen == true)
        #expect(origin.conditions == [nil, "\"1\"", "\"1\"", "\"2\"", "\"2\""])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "What one caller has stored answers no other: by host, key, or trust",
        arguments: [("Host", "a.example", "b.example"), ("X-Api-Key", "a", "b"), ("Authorization", "a", "b")])
    func otherCaller(_ name: String, _ first: String, _ second: String) async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        for (value, isAsked) in [(first, false), (first, true), (second, false), (first, true)] {
            let fields = [try HTTPField(parsing: "\(name): \(value)"), try HTTPField(parsing: "traceparent: \(value)")]
            let request = try TaskRequest(url: origin.server.url(), headers: fields)
            let (text, result, _) = await fixture.body(request)
            #expect(text == "one" && result.isRevalidated == isAsked, "\(value)")
        }
        #expect(origin.conditions == [nil, "\"1\"", nil, "\"1\""])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What came from a server that had to prove nothing answers no request for which it has to")
    func otherTrust() throws {
        let url = try HTTPURL("https://a.example/")
        func key(_ tls: TLSOptions) -> String? {
            StoredRequest(url, [], .init(tls: tls, userAgent: "", isDecoded: false))?.key
        }
        let pin = try CertificatePin(String(repeating: "ab", count: 32))
        let keys = [
            TLSOptions(), TLSOptions(isInsecure: true), TLSOptions(caFile: "/ca.pem"), TLSOptions(verifiesName: false),
            TLSOptions(pins: [pin]), TLSOptions(clientCertificate: "/c.pem"),
        ].map(key)
        #expect(Set(keys).count == 6 && !keys.contains(nil))
        #expect(key(TLSOptions()) == keys[0])
        #expect(key(TLSOptions(evaluator: TrustEvaluator { _ in .trusted })) == nil)
    }

    @Test("A 304 about another version than the stored one is no answer: everything is requested")
    func otherVersion() async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            request.field("if-none-match") == nil
                ? .respond(200, ["ETag: \"\(request.number)\""], text: "\(request.number)")
                : LiveServerAnswer([.send(LiveServerAnswer.head(304, ["ETag: \"other\""]))])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        let request = try TaskRequest(url: server.url())
        #expect(await fixture.body(request).0 == "1")
        let (text, result, _) = await fixture.body(request)
        #expect(text == "3" && !result.isRevalidated)
        #expect(server.requests.map { $0.field("if-none-match") } == [nil, "\"1\"", nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "What may not be stored is not asked about",
        arguments: [
            (["ETag: \"1\"", "Cache-Control: private, No-Store"], 200, "x"),
            (["ETag: \"1\"", "Vary: Accept, *"], 200, "x"),
            (["X-None: 1"], 200, "x"), (["ETag: \"1\""], 203, "x"),
            (["ETag: \"1\""], 200, String(repeating: "x", count: 300)),
        ] as [([String], Int, String)])
    func notStored(_ fields: [String], _ status: Int, _ text: String) async throws {
        let folder = try Scratch()
        let server = try LiveServer { _ in .respond(status, fields, text: text) }
        defer { server.stop() }
        let store = try ValidatorStore(directory: folder.file("store"), maxBytes: 1000)
        let fixture = try SessionFixture(storingIn: store)
        for _ in 0..<2 {
            #expect(await fixture.body(try TaskRequest(url: server.url())).1.outcome == .success)
        }
        #expect(store.count == 0)
        #expect(server.requests.allSatisfy { $0.field("if-none-match") == nil })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A body whose end nothing proves is not stored, nor one that broke off")
    func truncated() async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            let fields = request.path == "/short" ? ["ETag: \"1\"", "Content-Length: 9"] : ["ETag: \"1\""]
            return LiveServerAnswer([.send(LiveServerAnswer.head(200, fields) + Array("part".utf8)), .close])
        }
        defer { server.stop() }
        let store = try ValidatorStore(directory: folder.file("store"))
        let fixture = try SessionFixture(storingIn: store)
        for (path, outcome) in [("/short", TaskOutcome.failure), ("/closed", .success)] {
            var request = try TaskRequest(url: server.url(path))
            request.options.retry = .never
            #expect(await fixture.body(request).1.outcome == outcome)
        }
        #expect(store.count == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Requests

    @Test("Vary, credentials, cookies and coding each decide whose response it is")
    func keys() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer(.init(more: ["Vary: Accept, X-Kind"]))
        defer { origin.server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        func asks(_ fields: [(String, String)], _ change: (inout TaskRequest) -> Void = { _ in }) async throws -> Bool {
            var request = try TaskRequest(
                url: origin.server.url(), headers: try fields.map { try HTTPField($0.0, $0.1) })
            change(&request)
            _ = await fixture.body(request)
            return origin.conditions.last.flatMap(\.self) != nil
        }
        #expect(try await !asks([("Accept", "a")]))
        #expect(try await asks([("accept", "a"), ("Accept-Language", "1")]))
        #expect(try await !asks([("Accept", "b")]))
        #expect(try await !asks([("Accept", "b"), ("X-Kind", "1")]))
        #expect(try await asks([("Accept", "b"), ("X-Kind", "1")]))
        for field in [("Authorization", "Bearer x"), ("Cookie", "s=1")] {
            #expect(try await !asks([("Accept", "b"), ("X-Kind", "1"), field]))
            #expect(try await asks([("Accept", "b"), ("X-Kind", "1"), field]))
        }
        #expect(try await !asks([]) { $0.options.credentials = Credentials(user: "u", password: "p") })
        #expect(try await asks([]) { $0.options.credentials = Credentials(user: "u", password: "p") })
        #expect(try await !asks([]) { $0.options.credentials = Credentials(user: "u", password: "q") })
        #expect(try await !asks([]) { $0.options.acceptsCompression = true })
        // Digest answers differ each time.
        #expect(try await !asks([("Authorization", "Digest a=1")]))
        #expect(try await !asks([("Authorization", "Digest a=1")]))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A condition, a range or no-store of the caller's own is left alone")
    func own() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let store = try ValidatorStore(directory: folder.file("store"))
        let fixture = try SessionFixture(storingIn: store)
        _ = await fixture.body(try TaskRequest(url: origin.server.url()))
        for (name, value) in [
            ("If-None-Match", "\"1\""), ("If-Modified-Since", "Wed, 21 Oct 2015 07:28:00 GMT"), ("Range", "bytes=0-1"),
            ("Cache-Control", "no-store"),
        ] {
            let request = try TaskRequest(url: origin.server.url(), headers: [try HTTPField(name, value)])
            let (_, result, task) = await fixture.body(request)
            #expect(!result.isRevalidated)
            #expect(origin.server.requests.last?.field("if-none-match") == (name == "If-None-Match" ? value : nil))
            // The caller asked, and gets the answer.
            if name == "If-None-Match" { #expect(result.failure == .httpStatus && task.response?.status == 304) }
        }
        #expect(store.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("HEAD asks about what GET has stored; a method that changes the URL removes it, if it succeeds")
    func methods() async throws {
        let folder = try Scratch()
        let origin = try VersionedServer()
        defer { origin.server.stop() }
        let store = try ValidatorStore(directory: folder.file("store"))
        let fixture = try SessionFixture(storingIn: store)
        let url = origin.server.url("/a")
        _ = await fixture.body(try TaskRequest(url: url))
        let (text, result, task) = await fixture.body(try TaskRequest(url: url, method: "HEAD"))
        #expect(text.isEmpty && result.isRevalidated && task.response?.field("content-length") == "3")
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            #expect(store.count == 1)
            _ = await fixture.body(try TaskRequest(url: origin.server.url("/other"), method: method))
            #expect(store.count == 1)
            _ = await fixture.body(try TaskRequest(url: url, method: method))
            #expect(store.count == 0)
            let (_, again, _) = await fixture.body(try TaskRequest(url: url))
            #expect(!again.isRevalidated)
        }
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(FileManager.default.subpaths(atPath: folder.path)?.count == 4)
    }

    @Test("Each hop of a redirect has its own URL")
    func redirect() async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            if request.path == "/from" { return .respond(302, ["Location: /to", "ETag: \"1\""]) }
            return request.field("if-none-match") == "\"1\""
                ? LiveServerAnswer([.send(LiveServerAnswer.head(304, []))])
                : .respond(200, ["ETag: \"1\""], text: "end")
        }
        defer { server.stop() }
        let fixture = try SessionFixture(storingIn: try ValidatorStore(directory: folder.file("store")))
        for isStored in [false, true] {
            let (text, result, task) = await fixture.body(try TaskRequest(url: server.url("/from")))
            #expect(text == "end" && result.isRevalidated == isStored)
            #expect(task.response?.url == server.url("/to"))
        }
        #expect(server.requests.map { $0.field("if-none-match") } == [nil, nil, nil, "\"1\""])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
