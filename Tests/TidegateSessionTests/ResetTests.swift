import HTTPTypes
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// A session that was reset starts as a new one does.
@Suite(.timeLimit(.minutes(5)))
struct ResetTests {
    @Test("What follows a reset has a connection of its own, no cookie, no condition and no credentials")
    func everything() async throws {
        let folder = try Scratch()
        let server = try LiveServer { request in
            if request.path == "/secret", request.field("authorization") == nil {
                return .respond(401, ["WWW-Authenticate: Basic realm=\"r\""])
            }
            return .respond(200, ["ETag: \"1\"", "Set-Cookie: s=1"], text: "x")
        }
        defer { server.stop() }
        let (jar, store) = (CookieJar(), try ValidatorStore(directory: folder.file("store")))
        let fixture = try SessionFixture(
            .with { ($0.cookies, $0.validators) = (jar, store) },
            hooks: SessionHooks(authenticate: { _, _ in .credentials(Credentials(user: "u", password: "p")) }))
        func get(_ path: String) async throws -> LiveServerRequest {
            #expect(await fixture.run(try TaskRequest(url: server.url(path))).result().outcome == .success)
            return try #require(server.requests.last)
        }
        _ = try await get("/secret")
        // With the cookie of the first answer, which makes it another request to the store.
        _ = try await get("/a")
        let before = try await get("/a")
        #expect(before.connection == 1 && before.field("cookie") == "s=1" && before.field("if-none-match") == "\"1\"")
        #expect(store.count > 0 && jar.count == 1)

        await fixture.session.reset()
        #expect(store.count == 0 && jar.count == 0)
        #expect(await fixture.wait { server.open == 0 })
        let after = try await get("/a")
        #expect(after.connection == 2 && after.field("cookie") == nil && after.field("if-none-match") == nil)
        let count = server.requests.count
        let secret = try await get("/secret")
        #expect(server.requests.count == count + 2)
        #expect(server.requests[count].field("authorization") == nil)
        #expect(secret.field("authorization") == "Basic dTpw")
        let resets = fixture.recorder.events.count { if case .session(.reset) = $0.payload { true } else { false } }
        #expect(resets == 1 && fixture.poolRenewals == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A task under way goes on over its connection, which serves no other task afterwards")
    func running() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            guard request.path == "/slow" else { return .respond(text: "x") }
            let head = LiveServerAnswer.head(200, ["Content-Length: 2"])
            return LiveServerAnswer([.send(head + [0x61]), .waitFor(latch), .send([0x62])])
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let slow = fixture.run(try TaskRequest(url: server.url("/slow")))
        #expect(await fixture.wait { slow.currentProgress.received == 1 })
        await fixture.session.reset()
        let other = fixture.run(try TaskRequest(url: server.url()))
        #expect(await other.result().outcome == .success)
        latch.open()
        #expect(await slow.result().outcome == .success)
        #expect(slow.body() == Array("ab".utf8))
        let last = fixture.run(try TaskRequest(url: server.url()))
        #expect(await last.result().outcome == .success)
        #expect(server.requests.map(\.connection) == [1, 2, 2])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What an attempt of before the reset learns is forgotten with the rest")
    func underWay() async throws {
        let folder = try Scratch()
        let latch = Latch()
        let server = try LiveServer { request in
            let fields = ["ETag: \"1\"", "Set-Cookie: s=1", "Content-Length: 1"]
            let head = LiveServerAnswer([.send(LiveServerAnswer.head(200, fields)), .send([0x61])])
            return request.number == 1 ? LiveServerAnswer([.waitFor(latch)] + head.steps) : head
        }
        defer { server.stop() }
        let (jar, store) = (CookieJar(), try ValidatorStore(directory: folder.file("store")))
        let fixture = try SessionFixture(.with { ($0.cookies, $0.validators) = (jar, store) })
        let slow = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { server.requests.count == 1 })
        await fixture.session.reset()
        latch.open()
        #expect(await slow.result().outcome == .success)
        #expect(jar.count == 0 && store.count == 0)
        #expect(await fixture.run(try TaskRequest(url: server.url())).result().outcome == .success)
        #expect(jar.count == 1 && store.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("After its end a session still empties its jar and its store")
    func ended() async throws {
        let jar = CookieJar()
        let fixture = try SessionFixture(.with { $0.cookies = jar })
        await fixture.session.invalidate(cancellingTasks: true)
        jar.take(["a=1"], from: try HTTPURL("http://x.test/"), at: WallTime(microseconds: 0))
        await fixture.session.reset()
        #expect(jar.count == 0)
    }
}
