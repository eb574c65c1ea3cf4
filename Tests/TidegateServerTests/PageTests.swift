import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct PageTests {
    private let fixture = Fixture()

    private var html: String {
        get async throws { try await self.fixture.respond("GET", "/").text }
    }

    @Test("The page shows level, path, ladder, links, targets and tasks")
    func content() async throws {
        self.fixture.view.change { $0.tasks = [.example()] }
        let html = try await self.html
        for text in [
            "There is a route", "eth0 via 10.0.0.1 from 10.0.0.2", "no address", "api.example.com:443",
            "http://10.0.0.1/file", "value=\"40\"", "400 B of 1000 B", "running", "Tidegate 1.2.3", "IPv6",
        ] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(!html.contains("{{"))
    }

    @Test("Each level has a first line of its own")
    func levels() async throws {
        var lines: Set<String> = []
        for level in ReachabilityLevel.allCases {
            self.fixture.view.change { $0.status.global = Verdict(level: level) }
            let html = try await self.html
            let line = html.components(separatedBy: "<h1>").last?.components(separatedBy: "</h1>").first
            lines.insert(try #require(line))
        }
        #expect(lines.count == ReachabilityLevel.allCases.count)
    }

    @Test("A slow way out is the first line, with the hosts that get echoes; a slow target has its cause in its row")
    func slow() async throws {
        self.fixture.view.change { $0.status.quality = EveryEvent.qualityStatus }
        let html = try await self.html
        #expect(html.contains("<h1>Slow: 12 % of packets are lost beyond your router 10.0.0.1, wherever they go.</h1>"))
        #expect(html.contains("Report the figures of this measurement to the provider."))
        let section = try #require(html.components(separatedBy: "<section id=\"quality\"").last)
            .components(separatedBy: "</section>")[0]
        #expect(section.contains("<b>beyond your router</b><span class=\"url\">100.64.0.2</span>"), "\(section)")
        #expect(section.contains("2 of 12 echoes") && section.contains("12 ms"), "\(section)")
        #expect(html.contains("slow: the server answers after 1.2 s; a round trip takes 32 ms"))
        self.fixture.view.change { $0.status.quality?.network = nil }
        #expect(try await self.html.contains("<h1>api is slow: the server answers after 1.2 s"))
        self.fixture.view.change { $0.status.quality = nil }
        #expect(try await !self.html.contains("id=\"quality\""))
    }

    @Test("Nothing from outside becomes markup")
    func escaped() async throws {
        let evil = "<script>alert('1')</script>\"&{{facts}}"
        self.fixture.view.change { state in
            state.tasks = [.example(name: evil, url: evil)]
            state.status.links[0].name = evil
        }
        self.fixture.bus.publish(.netlink(.lost(evil)))
        self.fixture.bus.publish(.session(.circuitOpened(origin: evil, pause: .seconds(1))))
        let html = try await self.html
        #expect(html.components(separatedBy: "<script").count == 2, "the page's own, and no other")
        #expect(html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;{{facts}}"))
    }

    @Test("The policy allows the one style sheet, the one script, and nothing else", arguments: ["style", "script"])
    func policy(_ element: String) async throws {
        let policy = try #require(try await self.fixture.respond("GET", "/").headers[.contentSecurityPolicy])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
        #expect(!policy.contains("unsafe"))
        let text = try #require(
            try await self.html.components(separatedBy: "<\(element)>").last?.components(separatedBy: "</\(element)>")
                .first
        )
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let digest = try await Program.expect(
            ["sh", "-c", "openssl dgst -sha256 -binary \(file.path) | openssl base64 -A"])
        #expect(policy.contains("\(element)-src 'sha256-\(digest)'"), "the page's \(element) has the hash \(digest)")
    }

    @Test("The page loads nothing, and has no style or script besides its own two")
    func assets() async throws {
        let html = try await self.html
        for word in ["src=", "@import", "url(", " style=", " onclick=", "http-equiv=\"Content", "https://"] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.components(separatedBy: "<link").count == 2)
        #expect(html.contains("<link id=\"icon\" rel=\"icon\" href=\"data:"))
    }

    @Test("Only a GET of the page counts as a view")
    func viewed() async throws {
        for path in ["/api/v1/status", "/api/v1/tasks", "/metrics", "/-/ready"] {
            _ = try await self.fixture.respond("GET", path)
        }
        _ = try await self.fixture.respond("HEAD", "/")
        #expect(self.fixture.view.pageViews == 0)
        _ = try await self.fixture.respond("GET", "/")
        #expect(self.fixture.view.pageViews == 1)
    }

    @Test("Without a script the page reloads itself")
    func noScript() async throws {
        #expect(try await self.html.contains("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"))
    }

    @Test("Running tasks come first, ended ones last, and the number of rows is bounded")
    func order() async throws {
        var waiting = TaskInfo.example(name: "waiting")
        waiting.state = .waiting(.path, detail: "eth0 has no carrier")
        let many = (0..<1000).map { number in
            var over = TaskInfo.example(name: "over \(number)")
            over.state = .completed(.success)
            return over
        }
        self.fixture.view.change { $0.tasks = many + [waiting, .example(name: "moving")] }
        let html = try await self.html
        #expect(html.contains("<small>1 running, 1 waiting, 1000 over</small>"))
        #expect(html.contains("And 962 more"))
        #expect(html.contains("</div><span class=\"note\">eth0 has no carrier</span>"))
        let places = try ["moving", "waiting", "over 999"].map {
            try #require(html.range(of: "<b>\($0)</b>")).lowerBound
        }
        #expect(places == places.sorted())
    }

    @Test("The latest events are described, the newest first, with the party of a failure")
    func events() async throws {
        for payload in EveryEvent.payloads { self.fixture.bus.publish(payload) }
        let html = try await self.html
        for text in [
            "10.0.0.1: status 503 <span class=\"times\">×",
            "</span> <span class=\"party\"><i class=\"party-theirs\"></i>the server</span>",
            "<i class=\"party-mine\"></i>this host</span>", "remote write started",
        ] {
            #expect(html.contains(text), "\(text)")
        }
        self.fixture.time.advance(by: .seconds(10))
        self.fixture.bus.publish(.link(LinkEvent(from: nil, to: EveryEvent.status.links[0])))
        let later = try await self.html
        #expect(later.contains("<span class=\"note\">until <time "), "the link is back: that ends its outage")
    }

    @Test("A name has one row, with its last results, the reason and party of the last failure, and its next run")
    func results() async throws {
        let html = PageState.manyTasks.view.html
        #expect(html.components(separatedBy: "<b>config-sync</b>").count == 2)
        #expect(html.contains("<b>config-sync</b> <span class=\"times\">×4</span>"))
        #expect(
            html.contains("title=\"2026-11-21 21:34:15 UTC: api.example.com:443: the connection was refused\">✕</i>"))
        #expect(html.contains("<td data-head=\"Next run\"><div><time datetime=\"2026-11-21T21:56:55.000Z\""))
        let failed = PageState.deadTarget.view
        #expect(failed.html.contains("<i class=\"bad\" title="))
    }

    @Test("The tasks of one key have one row, named by it")
    func keys() {
        let tasks = (0..<3).map { _ in
            var task = TaskInfo.example(name: nil)
            task.key = "nightly"
            return task
        }
        let html = TaskRows(
            tasks: TaskSample(tasks), results: [:], nextRuns: [:], redaction: URLRedaction(), now: PageState.now
        ).html.markup
        #expect(html.components(separatedBy: " data-task=").count == 2)
        #expect(
            html.contains("<b>nightly</b> <span class=\"times\">×3</span><span class=\"url\">GET http://10.0.0.1/file"))
    }

    @Test("A target's failure comes from its check while the kernel cannot be read, and else from the kernel")
    func sourceOfFailure() throws {
        let target = try #require(EveryEvent.target)
        var report = EveryEvent.targetReport
        report.isReached = false
        func row(_ verdict: Verdict) -> TargetRow {
            TargetRow(
                verdict: TargetVerdict(target: target, verdict: verdict), configuredName: "api", report: report,
                marks: [], links: [], brokenSince: nil, now: PageState.now)
        }
        let unread = row(.unknown)
        #expect(unread.failureText == "203.0.113.10 refuses connections" && unread.party == .theirs)
        #expect(unread.advice?.hasPrefix("Start the service") == true)
        let unplugged = row(EveryEvent.unplugged)
        #expect(unplugged.failureText == "the link has no carrier" && unplugged.party == .mine)
        #expect(unplugged.advice == nil)
    }

    @Test("The row of a key shows the latest of its tasks that are over")
    func latestOfKey() {
        let tasks = [TaskOutcome.failure, .success].map { outcome in
            var task = TaskInfo.example(name: nil)
            (task.key, task.state) = ("nightly", .completed(outcome))
            return task
        }
        let html = TaskRows(
            tasks: TaskSample(tasks), results: [:], nextRuns: [:], redaction: URLRedaction(), now: PageState.now
        ).html.markup
        #expect(html.contains("<span class=\"good\">"), "\(html)")
        #expect(!html.contains("<span class=\"bad\">"))
    }

    @Test("What a target answered before an outage is not drawn as its health now")
    func reachedBefore() {
        let html = PageState.deadProvider.view.html
        #expect(html.contains("<b>reached <span data-since=\"2026-11-21T21:53:45.000Z\">50 s</span> ago</b>"))
        #expect(!html.contains("<span class=\"good\">reached</span>"))
        #expect(PageState.healthy.view.html.contains("<span class=\"good\">reached</span>"))
    }

    @Test("The start time is shown once")
    func since() {
        #expect(PageState.pulledCable.view.html.components(separatedBy: "21:54:27 UTC</time> (").count == 2)
        #expect(PageState.deadProvider.view.html.contains("routed</span> since <time datetime=\"2026-11-21T20:24:35"))
    }

    @Test("A target that the kernel has a route to is called routed, not checked, and has no colour")
    func routedTarget() {
        let html = PageState.unchecked.view.html
        #expect(html.contains("<span class=\"chip plain\">routed</span> <span class=\"note\">not checked</span>"))
    }

    @Test("A target that is checked says whether it is reached, how fast, why not and whose failure that is")
    func checkedTargets() {
        let html = PageState.deadTarget.view.html
        #expect(html.contains("<span class=\"good\">reached</span>"))
        #expect(html.contains("<div class=\"note wait\">certificate ends in 6 d</div>"))
        #expect(html.contains("<span class=\"bad\">not reached</span>"))
        #expect(html.contains("the connection was refused <span class=\"party\"><i class=\"party-theirs\">"))
        #expect(html.components(separatedBy: "<rect class=\"miss\"").count == 12)
        #expect(PageState.unchecked.view.html.components(separatedBy: "<rect class=\"hit\"").count == 1)
    }

    @Test("Pages for looking at are written into the folder that TIDEGATE_PAGES names", arguments: PageState.allCases)
    func written(_ state: PageState) throws {
        let html = state.view.html
        #expect(!html.contains("{{"))
        if let folder = ProcessInfo.processInfo.environment["TIDEGATE_PAGES"] {
            try html.write(toFile: "\(folder)/\(state.rawValue).html", atomically: true, encoding: .utf8)
        }
    }

    @Test("URLs are shown redacted")
    func redacted() async throws {
        self.fixture.view.change { $0.tasks = [.example(url: "http://u:secret@10.0.0.1/file?token=1")] }
        let html = try await self.html
        #expect(html.contains("GET http://10.0.0.1/file<"))
        #expect(!html.contains("secret") && !html.contains("token"))
    }

    @Test("Sizes are shown in units of 1024 bytes")
    func sizes() {
        #expect(TransferProgress(receivedWire: 1023).description == "1023 B")
        #expect(TransferProgress(receivedWire: 1536, expected: 5 << 30).description == "1.5 KiB of 5.0 GiB")
    }
}
