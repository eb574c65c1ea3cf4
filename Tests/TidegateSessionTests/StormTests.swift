import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Many tasks at once, with everything that can come between.
@Suite(.timeLimit(.minutes(5)))
struct StormTests {
    private static func hooks() -> SessionHooks {
        SessionHooks(
            redirect: { task, _, _ in
                await Task.yield()
                return task.request.options.name == "stop" ? .stop : .follow
            },
            authenticate: { _, _ in
                try? await Task.sleep(for: .milliseconds(1))
                return .bearer("tide")
            },
            disposition: { task, _ in
                try? await Task.sleep(for: .milliseconds(2))
                return task.request.options.name == "cancel" ? .cancel : .continue
            },
            newBodyStream: { _ in UploadStream(next: HookTests.once([1])) })
    }

    private static func server() throws -> LiveServer {
        try LiveServer { request in
            switch request.path {
            case "/redirect": .respond(302, ["Location: /"])
            case "/identity":
                request.field("authorization") == nil
                    ? .respond(401, ["WWW-Authenticate: Bearer realm=\"t\""]) : .respond(text: "in")
            case "/busy": request.number % 3 == 0 ? .respond(text: "ok") : .respond(503)
            case "/again": request.number % 2 == 0 ? .respond(text: "ok") : .respond(307, ["Location: /again"])
            case "/reset": LiveServerAnswer([.reset])
            default: .pattern(30_000, for: request)
            }
        }
    }

    @Test("Two thousand tasks with hooks, failures, outages, suspensions and cancels each end once, and last")
    func storm() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with {
                $0.maxConnectionsPerHost = 16
                $0.retry = RetryPolicy(attempts: 3, base: .milliseconds(1), cap: .milliseconds(3))
                $0.lossGrace = .zero
                $0.pauseLimit = .milliseconds(2)
                $0.circuit.pause = .milliseconds(10)
                $0.circuit.cap = .milliseconds(20)
            },
            hooks: Self.hooks())
        var chance = SeededGenerator(seed: 11)
        let paths = ["/", "/redirect", "/identity", "/busy", "/again", "/reset"]
        var tasks: [TransferTask] = []
        for number in 0..<2000 {
            let path = paths.randomElement(using: &chance) ?? "/"
            let body: RequestBody = path == "/again" ? .stream(UploadStream(next: HookTests.once([2, 2]))) : .none
            var request = try TaskRequest(url: server.url(path), method: path == "/again" ? "PUT" : "GET", body: body)
            request.options.name = ["stop", "cancel", "plain", nil].randomElement(using: &chance) ?? nil
            if Bool.random(using: &chance) { request.destination = .discard }
            tasks.append(fixture.run(request))
            for _ in 0..<3 {
                guard let task = tasks.randomElement(using: &chance) else { continue }
                switch Int.random(in: 0..<10, using: &chance) {
                case 0: task.cancel()
                case 1...3:
                    task.suspend()
                    task.resume()
                case 4:
                    task.suspend()
                    task.download.pause()
                default: break
                }
            }
            if number % 100 == 50 { fixture.paths.say(ScriptedPathSource.lost()) }
            if number % 100 == 53 { fixture.paths.say(ScriptedPathSource.routed()) }
        }
        fixture.paths.say(ScriptedPathSource.routed())
        for task in tasks {
            task.download.resume()
            for _ in 0..<200 { task.resume() }
        }
        for task in tasks { _ = await task.result() }
        for task in tasks {
            let names = fixture.eventNames(of: task)
            #expect(names.count { $0.hasPrefix("completed") } == 1)
            #expect(names.last?.hasPrefix("completed") == true)
            for reason in HoldReason.allCases {
                let (held, released) = ("held(\(reason.rawValue))", "released(\(reason.rawValue))")
                #expect(names.count { $0 == held } == names.count { $0 == released }, "\(names)")
            }
        }
        #expect(fixture.session.statistics().tasks.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
