import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct AnswersTests {
    private let fixture = Fixture()

    @Test(
        "Every route answers GET and HEAD",
        arguments: [
            ("/metrics", "metrics"), ("/", "page"), ("/-/healthy", "healthy"), ("/-/ready", "ready"),
            ("/api/v1/status", "status"), ("/api/v1/tasks", "tasks"), ("/metrics?x=1", "metrics"), ("/#top", "page"),
            ("/api/v1/events", "events"),
        ])
    func routes(_ path: String, _ handler: String) async {
        for method in ["GET", "HEAD"] {
            let answer = await self.fixture.ask(method, path)
            #expect(answer.status == 200)
            #expect(answer.handler.rawValue == handler)
        }
    }

    @Test("Other methods are told what is allowed", arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"])
    func methods(_ method: String) async {
        let answer = await self.fixture.ask(method, "/metrics")
        #expect(answer.status == 405)
        #expect(answer.fields.contains { $0 == ("allow", "GET, HEAD") })
    }

    @Test(
        "Unknown paths are not found, whatever the method",
        arguments: ["/nothing", "/metrics/", "//", "", "/api/v1", "/api/v1/tasks/", "/-/quit", "/../etc/passwd", "*"])
    func unknown(_ path: String) async {
        #expect(await self.fixture.ask("GET", path).status == 404)
        #expect(await self.fixture.ask("POST", path).status == 404)
    }

    @Test("The exposition's path can be chosen")
    func telemetryPath() async {
        var fixture = self.fixture
        fixture.configuration.telemetryPath = "/m"
        #expect(await fixture.ask("GET", "/m").handler == .metrics)
        #expect(await fixture.ask("GET", "/metrics").status == 404)
    }

    @Test("Ready means a first verdict; healthy means nothing but alive")
    func ready() async {
        self.fixture.view.change { $0.isReady = false }
        #expect(await self.fixture.ask("GET", "/-/ready").status == 503)
        #expect(await self.fixture.ask("GET", "/-/healthy").status == 200)
        self.fixture.view.change { $0.isReady = true }
        #expect(await self.fixture.ask("GET", "/-/ready").status == 200)
    }

    @Test("The format is negotiated, and the answer says on what it depends")
    func negotiation() async {
        let answer = await self.fixture.ask("GET", "/metrics", accept: "application/openmetrics-text;version=1.0.0")
        #expect(answer.contentType == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(answer.fields.contains { $0 == ("vary", "Accept, Accept-Encoding") })
        #expect(answer.body.suffix(6) == Array("# EOF\n".utf8)[...])
        #expect(await self.fixture.ask("GET", "/metrics").contentType == "text/plain; version=0.0.4; charset=utf-8")
    }

    @Test("More requests than allowed are refused, probes excepted")
    func limit() async {
        #expect(await self.fixture.ask("GET", "/metrics", inFlight: 40).status == 200)
        let answer = await self.fixture.ask("GET", "/metrics", inFlight: 41)
        #expect(answer.status == 503)
        #expect(answer.fields.contains { $0.name == "retry-after" })
        #expect(await self.fixture.ask("GET", "/-/healthy", inFlight: 41).status == 200)
    }

    @Test("Status and tasks are the documented objects")
    func json() async {
        let info = TaskInfo.example()
        self.fixture.view.change { $0.tasks = [info] }
        let status = await self.fixture.ask("GET", "/api/v1/status")
        #expect(status.contentType == "application/json; charset=utf-8")
        #expect(String(decoding: status.body, as: UTF8.self) == EveryEvent.status.json.description + "\n")
        let tasks = await String(decoding: self.fixture.ask("GET", "/api/v1/tasks").body, as: UTF8.self)
        #expect(tasks == "{\"schema\":1,\"tasks\":[\(info.json)]}\n")
        let task = await self.fixture.ask("GET", "/api/v1/tasks/\(info.id)")
        #expect(task.status == 200)
        #expect(String(decoding: task.body, as: UTF8.self).hasPrefix("{\"schema\":1,\"id\":\"\(info.id)\""))
    }

    @Test(
        "A task that nobody knows is not found", arguments: ["nonsense", "01890000-0000-7000-8000-000000000007", "%2F"])
    func unknownTask(_ id: String) async {
        let answer = await self.fixture.ask("GET", "/api/v1/tasks/\(id)")
        #expect(answer.status == 404)
        #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix("{\"schema\":1,\"error\":"))
    }
}
