internal import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// What hooks decide, and what happens to a task while one is asked.
@Suite(.timeLimit(.minutes(5)))
struct HookTests {
    /// Lets a hook wait until a test opens it, without a thread.
    static func pass(_ latch: Latch) async {
        // A task of its own each time: the hook itself may have been cancelled, and would not sleep then.
        while !latch.isOpen { await Task { try? await Task.sleep(for: .milliseconds(1)) }.value }
    }

    // MARK: - Redirects

    private static func redirecting() throws -> LiveServer {
        try LiveServer { request in
            switch request.path {
            case "/start": .respond(302, ["Location: /end?x=1"])
            default: .respond(text: "\(request.method) \(request.path) \(request.field("x-own") ?? "-")")
            }
        }
    }

    @Test("A redirect is followed, stopped or replaced as the hook says")
    func redirect() async throws {
        let server = try Self.redirecting()
        defer { server.stop() }
        let elsewhere = server.url("/other")
        let own = try HTTPField("X-Own", "yes")
        let hooks = SessionHooks(redirect: { task, response, request in
            #expect(response.status == 302)
            #expect(response.field("location") == "/end?x=1")
            #expect(request.url.hasSuffix("/end?x=1"))
            switch task.request.options.name {
            case "follow": return .follow
            case "stop": return .stop
            default:
                var other = request
                other.url = elsewhere
                other.headers = [own]
                return .replace(other)
            }
        })
        let fixture = try SessionFixture(hooks: hooks)
        func task(_ name: String) async throws -> (TransferTask, TaskResult) {
            var request = try TaskRequest(url: server.url("/start"))
            request.options.name = name
            let task = fixture.run(request)
            return (task, await task.result())
        }
        let (followed, good) = try await task("follow")
        #expect(good.outcome == .success)
        #expect(followed.body() == Array("GET /end?x=1 -".utf8))
        #expect(followed.response?.url == server.url("/end?x=1"))
        let (stopped, bad) = try await task("stop")
        #expect(bad.failure == .httpStatus)
        #expect(bad.status == 302)
        #expect(bad.attempts == 1)
        #expect(fixture.eventNames(of: stopped).last == "completed(failure)")
        let (replaced, other) = try await task("replace")
        #expect(other.outcome == .success)
        #expect(replaced.body() == Array("GET /other yes".utf8))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A replaced redirect that cannot be asked for fails the task with a sentence")
    func badReplacement() async throws {
        let server = try Self.redirecting()
        defer { server.stop() }
        let fixture = try SessionFixture(
            hooks: SessionHooks(redirect: { _, _, request in
                var other = request
                other.url = "gopher://nowhere/"
                return .replace(other)
            }))
        let result = await fixture.run(try TaskRequest(url: server.url("/start"))).result()
        #expect(result.failure == .invalidRequest)
        #expect(result.explanation?.contains("gopher") == true)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A task's own hook goes before the session's")
    func precedence() async throws {
        let server = try Self.redirecting()
        defer { server.stop() }
        let fixture = try SessionFixture(hooks: SessionHooks(redirect: { _, _, _ in .stop }))
        let options = TaskOptions(hooks: SessionHooks(redirect: { _, _, _ in .follow }))
        let task = fixture.session.makeTask(try TaskRequest(url: server.url("/start")), options: options)
        task.resume()
        #expect(await task.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - Answers

    @Test("An answer goes on, is cancelled or becomes a download as the hook says")
    func disposition() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .pattern(300_000, for: $0) }
        defer { server.stop() }
        let path = scratch.file("a")
        let fixture = try SessionFixture(
            hooks: SessionHooks(disposition: { task, response in
                #expect(response.expectedBytes == 300_000)
                return switch task.request.options.name {
                case "cancel": .cancel
                case "download": .download(to: path, permissions: 0o600)
                default: .continue
                }
            }))
        func run(_ name: String) async throws -> (TransferTask, TaskResult) {
            var request = try TaskRequest(url: server.url())
            request.options.name = name
            request.destination = .memory(limit: name == "download" ? 10 : 1 << 20)
            let task = fixture.run(request)
            return (task, await task.result())
        }
        let (kept, good) = try await run("continue")
        #expect(good.outcome == .success)
        #expect(kept.body() == LiveServerAnswer.bytes(count: 300_000))
        #expect(try await run("cancel").1.outcome == .cancelled)
        let (moved, result) = try await run("download")
        #expect(result.outcome == .success)
        #expect(result.file == path)
        #expect(moved.body().isEmpty)
        #expect(scratch.hasPattern("a", 300_000))
        #expect(scratch.names == ["a"])
        #expect(fixture.eventNames(of: moved).contains("moved"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An answer without a body waits for its hook, too")
    func emptyAnswer() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in .respond(204) }
        defer { server.stop() }
        let asked = Latch()
        let path = scratch.file("empty")
        let fixture = try SessionFixture(
            hooks: SessionHooks(disposition: { _, _ in
                await Self.pass(asked)
                return .download(to: path)
            }))
        let task = fixture.run(try TaskRequest(url: server.url()))
        #expect(await fixture.wait { fixture.eventNames(of: task).contains("responseHead(204)") })
        #expect(task.state == .running(attempt: 1))
        asked.open()
        #expect(await task.result().outcome == .success)
        #expect(scratch.bytes("empty") == [])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("While a hook is asked its own transfer stands still, idle clock included, and no other one does")
    func slowHook() async throws {
        let server = try LiveServer { .pattern(200_000, for: $0) }
        defer { server.stop() }
        let answer = Latch()
        let fixture = try SessionFixture()
        let request = try TaskRequest(url: server.url())
        var impatient = request
        impatient.options.idleTimeout = .seconds(4)
        let hooks = SessionHooks(disposition: { _, _ in
            await Self.pass(answer)
            return .continue
        })
        let slow = fixture.session.makeTask(impatient, options: TaskOptions(hooks: hooks))
        slow.resume()
        #expect(await fixture.wait { fixture.eventNames(of: slow).contains("responseHead(200)") })
        for _ in 0..<20 { #expect(await fixture.run(request).result().outcome == .success) }
        try await Task.sleep(for: .milliseconds(4500))
        #expect(slow.state == .running(attempt: 1))
        #expect(slow.currentProgress.received == 0)
        answer.open()
        #expect(await slow.result().outcome == .success)
        #expect(slow.body() == LiveServerAnswer.bytes(count: 200_000))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - While a hook is asked

    enum Question: CaseIterable { case redirect, identity, disposition, newBody }

    @Test("A task can be cancelled while any hook is asked, and ends once", arguments: Question.allCases)
    func cancelWhileAsked(_ question: Question) async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/redirect": .respond(302, ["Location: /"])
            case "/identity": .respond(401, ["WWW-Authenticate: Basic realm=\"tide\""])
            case "/newBody": .respond(307, ["Location: /newBody"])
            default: .respond(text: "ok")
            }
        }
        defer { server.stop() }
        let (isAsked, isDone) = (Latch(), Latch())
        @Sendable func wait() async {
            isAsked.open()
            await Self.pass(isDone)
        }
        let fixture = try SessionFixture(hooks: Self.hooks(for: question, wait))
        let body: RequestBody =
            question == .newBody ? .stream(UploadStream(length: nil, next: Self.once([1, 2, 3]))) : .none
        let task = fixture.run(
            try TaskRequest(url: server.url("/\(question)"), method: question == .newBody ? "PUT" : "GET", body: body))
        #expect(await fixture.wait { isAsked.isOpen })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        task.resume()
        task.cancel()
        #expect(await task.result().outcome == .cancelled)
        isDone.open()
        #expect(fixture.eventNames(of: task).filter { $0.hasPrefix("completed") } == ["completed(cancelled)"])
        #expect(fixture.eventNames(of: task).last == "completed(cancelled)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    private static func hooks(
        for question: Question, _ wait: @escaping @Sendable () async -> Void
    ) -> SessionHooks {
        switch question {
        case .redirect:
            SessionHooks(redirect: { _, _, _ in
                await wait()
                return .follow
            })
        case .identity:
            SessionHooks(authenticate: { _, _ in
                await wait()
                return .credentials(Credentials(user: "a", password: "b"))
            })
        case .disposition:
            SessionHooks(disposition: { _, _ in
                await wait()
                return .continue
            })
        case .newBody:
            SessionHooks(newBodyStream: { _ in
                await wait()
                return UploadStream(next: Self.once([1]))
            })
        }
    }

    /// Gives one chunk, and then the end.
    static func once(_ bytes: [UInt8]) -> @Sendable () async throws -> [UInt8]? {
        let rest = Rest(bytes)
        return { rest.take() }
    }

    private final class Rest: Sendable {
        private let bytes: Mutex<[UInt8]?>
        init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }
        func take() -> [UInt8]? { self.bytes.withLock { $0.take() } }
    }

    @Test("A suspended task whose hook has answered goes on when it is resumed, and not before")
    func suspendedWhileAsked() async throws {
        let server = try Self.redirecting()
        defer { server.stop() }
        let (isAsked, isDone) = (Latch(), Latch())
        let fixture = try SessionFixture(
            hooks: SessionHooks(redirect: { _, _, _ in
                isAsked.open()
                await Self.pass(isDone)
                return .follow
            }))
        let task = fixture.run(try TaskRequest(url: server.url("/start")))
        #expect(await fixture.wait { isAsked.isOpen })
        task.suspend()
        #expect(await fixture.wait { task.state == .suspended })
        isDone.open()
        try await Task.sleep(for: .milliseconds(50))
        #expect(server.requests.count == 1)
        task.resume()
        #expect(await task.result().outcome == .success)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A session ends in time although a hook never answers")
    func endWhileAsked() async throws {
        let server = try Self.redirecting()
        defer { server.stop() }
        let never = Latch()
        let fixture = try SessionFixture(
            hooks: SessionHooks(redirect: { _, _, _ in
                await Self.pass(never)
                return .follow
            }))
        let task = fixture.run(try TaskRequest(url: server.url("/start")))
        #expect(await fixture.wait { server.requests.count == 1 })
        await fixture.session.invalidate(cancellingTasks: true)
        #expect(task.state == .completed(.cancelled))
        never.open()
    }
}
