import HTTPTypes
import NIOCore
import NIOEmbedded
import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct RouteTests {
    private let fixture = Fixture()

    @Test(
        "Every route answers GET and HEAD",
        arguments: [
            ("/metrics", "metrics"), ("/", "page"), ("/-/healthy", "healthy"), ("/-/ready", "ready"),
            ("/api/v1/status", "status"), ("/api/v1/targets", "targets"), ("/api/v1/tasks", "tasks"),
            ("/api/v1/probes", "probes"),
            ("/metrics?x=1", "metrics"), ("/#top", "page"),
            ("/api/v1/events", "events"),
        ])
    func routes(_ path: String, _ handler: String) async throws {
        for method in ["GET", "HEAD"] {
            let response = try await self.fixture.respond(method, path)
            #expect(response.status == 200)
            #expect(response.handler == handler)
        }
    }

    @Test("Other methods get 405 with Allow", arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "PURGE"])
    func methods(_ method: String) async throws {
        let response = try await self.fixture.respond(method, "/metrics")
        #expect(response.status == 405)
        #expect(response.headers[.allow] == "GET, HEAD")
        #expect(response.text == "Method not allowed.\n")
        #expect(response.handler == "metrics")
    }

    @Test(
        "Unknown paths get 404 with every method",
        arguments: ["/nothing", "/metrics/", "//", "", "/api/v1", "/api/v1/tasks/", "/-/quit", "/../etc/passwd", "*"])
    func unknown(_ path: String) async throws {
        for method in ["GET", "POST"] {
            let response = try await self.fixture.respond(method, path)
            #expect(response.status == 404)
            #expect(response.text == "Not found.\n")
            #expect(response.handler == "other")
        }
    }

    @Test("A thread that does not turn makes the process unhealthy, and a metric tells which")
    func stalledThread() async throws {
        var load = ThreadLoad()
        load.isStalled = true
        self.fixture.view.change { [load] in $0.threads = [.netlink: load] }
        let response = try await self.fixture.respond("GET", "/-/healthy")
        #expect(response.status == 503)
        #expect(
            response.text
                == "The netlink thread has been in one turn for more than 10 seconds; restart Tidegate.\n")
        let metrics = try await self.fixture.respond("GET", "/metrics").text
        #expect(metrics.contains("tidegate_thread_stalled{thread=\"netlink\"} 1\n"))
        #expect(metrics.contains("tidegate_thread_stalled{thread=\"transfer\"} 0\n"))
    }

    @Test("The targets are listed with what their checks found")
    func targets() async throws {
        let response = try await self.fixture.respond("GET", "/api/v1/targets")
        #expect(
            response.text.split(separator: "\n").joined() == """
                {"schema":1,"targets":[{"name":"api","target":"api.example.com:443","check":"tls","level":"routed",\
                "reason":null,"routed":true,"reached":true,"lastSuccess":"2026-09-21T14:13:20.000Z",\
                "lastFailure":{"time":"2026-09-21T14:13:05.000Z","since":"2026-09-21T14:13:05.000Z","reason":"refused","party":"theirs",\
                "text":"203.0.113.10 refuses connections",\
                "advice":"Start the service on api.example.com:443, or check the port: the host is there and refuses."},\
                "latencySeconds":{"connect":0.012,"tls":0.031,"response":0.008},\
                "certificateExpiry":"2027-01-15T08:00:00.000Z","nextCheck":"2026-09-21T14:13:35.000Z",\
                "checkingSince":null}]}
                """)
    }

    @Test("The exposition's path can be chosen")
    func telemetryPath() async throws {
        var fixture = self.fixture
        fixture.configuration.telemetryPath = "/m"
        #expect(try await fixture.respond("GET", "/m").handler == "metrics")
        #expect(try await fixture.respond("GET", "/metrics").status == 404)
    }

    @Test(
        "A path of the exposition is absolute, plain and not another route's",
        arguments: [
            ("/metrics", true), ("/a/b-c.d~e_f", true), ("/apis", true), ("", false), ("/", false), ("metrics", false),
            ("/metrics/", false), ("//api/v1/status", false), ("/api/v1/status", false), ("/api", false),
            ("/-/healthy", false), ("/a?b", false), ("/a#b", false), ("/a b", false), ("/:id", false), ("/*", false),
            ("/{id}", false), ("/probe", false), ("/config", false), ("/logs/x", false), ("/a//b", false),
        ])
    func validTelemetryPath(_ path: String, _ isValid: Bool) {
        #expect((EndpointConfiguration.problem(ofTelemetryPath: path) == nil) == isValid)
    }

    @Test("Ready needs a first verdict; healthy needs only the process")
    func ready() async throws {
        self.fixture.view.change { $0.isReady = false }
        #expect(try await self.fixture.respond("GET", "/-/ready").status == 503)
        #expect(try await self.fixture.respond("GET", "/-/healthy").status == 200)
        self.fixture.view.change { $0.isReady = true }
        #expect(try await self.fixture.respond("GET", "/-/ready").status == 200)
    }

    @Test("The first scrape waits for the first verdicts, and shows their levels, links and targets")
    func firstScrape() async throws {
        self.fixture.view.change { state in
            state.firstStatus = state.status
            state.status = .unavailable(mode: .event)
            state.isReady = false
        }
        #expect(try await self.fixture.respond("GET", "/-/ready").status == 503, "only a scrape waits")
        let text = try await self.fixture.respond("GET", "/metrics").text
        for sample in [
            "tidegate_reachability_level{level=\"routed\"} 1", "tidegate_interface_up{device=\"eth0\"} 1",
            "tidegate_target_reachable{target=\"api\"} 1", "tidegate_reachability_level{level=\"unknown\"} 0",
        ] {
            #expect(text.contains("\n\(sample)\n"), "\(sample)")
        }
    }

    @Test("The format is negotiated, and Vary names what it depends on")
    func negotiation() async throws {
        let response = try await self.fixture.respond(
            "GET", "/metrics", accept: "application/openmetrics-text;version=1.0.0")
        #expect(response.headers[.contentType] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(response.headers[.vary] == "Accept, Accept-Encoding")
        #expect(response.text.hasSuffix("# EOF\n"))
        let text = try await self.fixture.respond("GET", "/metrics")
        #expect(text.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
    }

    @Test("More concurrent requests than allowed get 503, except for the health checks")
    func limit() async throws {
        let requests = RequestTable(limit: 40)
        for number in 0..<39 {
            #expect(requests.places.withLock { $0.take(.init(peer: Self.peer(number), isScrape: true)) })
        }
        #expect(try await self.fixture.respond("GET", "/metrics", requests: requests).status == 200)
        let response = try await self.fixture.respond("GET", "/metrics", requests: requests)
        #expect(response.status == 503)
        #expect(response.headers[.retryAfter] == "1")
        for path in ["/", "/api/v1/status", "/api/v1/tasks"] {
            #expect(try await self.fixture.respond("GET", path, requests: requests).status == 503)
        }
        #expect(try await self.fixture.respond("GET", "/-/healthy", requests: requests).status == 200)
        #expect(try await self.fixture.respond("GET", "/-/ready", requests: requests).status == 200)
        #expect(try await self.fixture.respond("GET", "/nothing", requests: requests).status == 404)
    }

    private static func peer(_ number: Int) -> PeerAddress { PeerAddress(ip: IPAddress("10.0.0.\(number)")) }

    @Test("The last quarter of the requests is for peers that have none, and for the scrapes of those that have others")
    func shares() {
        var places = RequestPlaces(limit: 40)
        let attacker = RequestPlaces.Holder(peer: Self.peer(1), isScrape: false)
        let taken = (0..<100).count { _ in places.take(attacker) }
        #expect(taken == 30)
        let scraper = RequestPlaces.Holder(peer: Self.peer(2), isScrape: true)
        let own = RequestPlaces.Holder(peer: Self.peer(1), isScrape: true)
        let scrapes = [scraper, own, scraper, own].map { places.take($0) }
        #expect(scrapes == [true, true, false, false])
        let others = (3..<12).map { RequestPlaces.Holder(peer: Self.peer($0), isScrape: true) }
        let admitted = others.count { places.take($0) }
        #expect(admitted == 8 && places.count == 40)
        for _ in 0..<30 { places.release(attacker) }
        let isTaken = places.take(attacker)
        #expect(isTaken && places.count == 11)
        var single = RequestPlaces(limit: 1)
        let both = [attacker, scraper].map { single.take($0) }
        #expect(both == [true, false])
    }

    @Test("Nothing is built for a client that has left", arguments: ["/", "/api/v1/tasks", "/metrics"])
    func left(_ path: String) async throws {
        #expect(try await self.fixture.respond("GET", path, on: NIOAsyncTestingChannel()) == nil)
        #expect(self.fixture.view.listings == 0 && self.fixture.view.pageViews == 0)
    }

    @Test("Status and tasks are the documented objects")
    func json() async throws {
        let info = TaskInfo.example()
        self.fixture.view.change { $0.tasks = [info] }
        let status = try await self.fixture.respond("GET", "/api/v1/status")
        #expect(status.headers[.contentType] == "application/json; charset=utf-8")
        #expect(
            status.text
                == "\(EveryEvent.status.json.adding(.init("diagnosis", .null)))\n"
                .replacing(
                    "\"diagnosis\":null}",
                    with: "\"diagnosis\":null,\"quality\":null,\"observation\":{\"mode\":\"off\",\"reason\":null}}"))
        let tasks = try await self.fixture.respond("GET", "/api/v1/tasks").text
        #expect(tasks == "{\"schema\":1,\"tasks\":[\(info.json)],\"next\":null,\"total\":1}\n")
        let task = try await self.fixture.respond("GET", "/api/v1/tasks/\(info.id)")
        #expect(task.status == 200 && task.handler == "task")
        #expect(task.text.hasPrefix("{\"schema\":1,\"id\":\"\(info.id)\""))
    }

    @Test("An unknown task gets 404", arguments: ["nonsense", "01890000-0000-7000-8000-000000000007", "%2F"])
    func unknownTask(_ id: String) async throws {
        let response = try await self.fixture.respond("GET", "/api/v1/tasks/\(id)")
        #expect(response.status == 404)
        #expect(response.text == "{\"schema\":1,\"error\":\"no task has this ID\"}\n")
    }
}
