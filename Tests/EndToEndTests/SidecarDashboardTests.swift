import Foundation
import Testing
import TidegateTestKit

/// The panels and alerts of a sidecar that does real transfers, while its link is cut and restored.
@Suite(
    .enabled(if: Prometheus.isInstalled, "prometheus (Debian package prometheus) is not installed"),
    .timeLimit(.minutes(5)))
struct SidecarDashboardTests {
    // An address with an `unreachable` route, although there is a default route.
    private static let barred = "203.0.113.7"
    // Each port is an origin of its own: eight failures at one origin would open its circuit.
    private static let failingPorts = 8081...8088
    /// What this scenario is about: the cut, a barred target and one that refuses connections, a request for what is missing, and servers that fail.
    ///
    /// Every other alert has to stay silent.
    private static let expectedAlerts: Set = [
        "TidegateOurPathLost", "TidegateTargetNotRouted", "TidegateTargetUnreachable", "TidegateOurFailures",
        "TidegateTheirFailures", "TidegateRetriesExhausted", "TidegateScheduledProbeFailing",
    ]
    /// The panels that show nothing here: the kernel dropped no message, no target speaks TLS or HTTP, no other program
    /// has connections, and behind the peer nothing answers, so that the quality of the way out is not watched.
    private static let emptyPanels: Set = [
        "Resync duration", "Time until certificates expire", "Time until certificates of probed servers expire",
        "Round trips", "Slowest round trips", "Lost echoes", "Segments sent again", "Way out", "Slow times by party",
        "Slowness of the way out", "Slowness of targets", "Time to the first byte", "Slow targets",
        // This host has one way out, and no state of several.
        "Ways out",
        // Without a way out, nothing of its interface is measured.
        "Own queue", "Dropped and damaged", "Wi-Fi signal", "Wi-Fi frames sent again",
    ]

    // A scrape that takes longer than its second fires TidegateDown as well.
    @Test(
        "Every panel has data, and exactly the alerts about what happened fire, when a sidecar loses its link",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func cutLink() async throws {
        let (fixture, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { fixture.end() }
        try hosts.ip("route add unreachable \(Self.barred)")
        let image = LiveServerAnswer.bytes(count: 6 << 20)
        try Data(image).write(to: fixture.folder.appendingPathComponent("image.bin"))
        try await fixture.startNginx(on: hosts, rate: "1m", servers: Self.servers)
        let rules = [
            try Dashboard.alerts(in: fixture.folder) { $0 }, Dashboard.folder.appendingPathComponent("rules.yml").path,
        ]
        // Started first, so that the sidecar's remote write has a receiver's address.
        let prometheus = try await Prometheus(scraping: 9843, rules: rules, prefix: hosts.onThisSide([]))
        await prometheus.shutDown()
        let serve = try await self.startDaemon(fixture, hosts, writingTo: prometheus.writeURL)
        // The receiver is not there yet: the first push fails, and is repeated.
        try #require(await eventually { serve.log.contains("remote write failed") }, "\(serve.log)")
        let start = Date().timeIntervalSince1970
        try await prometheus.start()
        try await prometheus.scraped(2)

        for port in Self.failingPorts {
            try await self.submit(["http://\(TwoHosts.peer):\(port)/", "--retry", "1"], fixture, hosts)
        }
        let file = fixture.path("image.out")
        try await self.submit(["http://\(TwoHosts.peer)/image.bin", "-o", file], fixture, hosts)
        try #require(
            await eventually { fixture.size(of: ".image.out.tidegate") > 1 << 20 }, "\(serve.log)")
        try hosts.pullCable()
        try await self.expectAlert("TidegateOurPathLost", of: prometheus)
        try hosts.plugCable()
        #expect(await eventually { fixture.size(of: "image.out") == image.count }, "\(serve.log)")
        #expect(FileManager.default.contents(atPath: file).map { [UInt8]($0) } == image)
        for alert in Self.expectedAlerts where alert != "TidegateOurPathLost" {
            try await self.expectAlert(alert, of: prometheus)
        }
        try await prometheus.scraped(3)

        let span = (start, Date().timeIntervalSince1970)
        try await self.checkAlerts(prometheus, span)
        // The sidecar's own connections are not observed, and no other program has any here: ConnectionDashboardTests.
        for name in Dashboard.names where !["probes", "connections"].contains(name) {
            try await Dashboard(named: name).expectData(from: prometheus, in: span, except: Self.emptyPanels)
        }
        try await self.checkHistory(prometheus, span)
        await serve.stop()
    }

    // MARK: The scenario

    private static let servers = """
        server { listen \(TwoHosts.peer):8080; location / { return 200 "fine"; } }
        server { \(Self.failingPorts.map { "listen \(TwoHosts.peer):\($0);" }.joined()) location / { return 503; } }
        """

    private func startDaemon(
        _ fixture: EndToEndFixture, _ hosts: TwoHosts, writingTo url: String
    ) async throws -> RunningDaemon {
        try fixture.write(String(repeating: "tide ", count: 1000), to: "upload.txt")
        return try await fixture.startDaemon(
            """
            labels: {site: berlin, provider: alpha}
            reachability:
              targets:
                - {name: origin, host: \(TwoHosts.peer), port: 80, objective: 50%}
                - {name: barred, host: \(Self.barred), port: 80}
                - {name: closed, host: \(TwoHosts.peer), port: 9, interval: 1s}
            modules: {http_2xx: {prober: http}}
            probes:
              - {name: origin, module: http_2xx, target: "http://\(TwoHosts.peer):8080/", every: 1s}
              - {name: closed, module: http_2xx, target: "http://\(TwoHosts.peer):9/", every: 1s}
            tasks:
              - {name: status, url: "http://\(TwoHosts.peer):8080/", every: 1s, jitter: 0%}
              - {name: upload, url: "http://\(TwoHosts.peer):8080/", method: POST, body_file: \(fixture.path("upload.txt")),
                 every: 1s, jitter: 0%}
              - {name: missing, url: "http://\(TwoHosts.peer)/missing", every: 1s, jitter: 0%}
            remote_write: {url: "\(url)", interval: 1s, labels: {job: pushed}}
            """, prefix: hosts.onThisSide([]))
    }

    private func submit(_ arguments: [String], _ fixture: EndToEndFixture, _ hosts: TwoHosts) async throws {
        let command = [BuiltProduct.path(of: "tidegate"), "tasks", "submit"] + arguments
        try await Program.expect(hosts.onThisSide(command + ["--control.socket", fixture.socket]))
    }

    // MARK: What Prometheus says

    /// Waits until an alert fires, with text that says where and what to do.
    private func expectAlert(_ name: String, of prometheus: Prometheus) async throws {
        let alert = try await eventualValue {
            let answer = try await prometheus.get("alerts")
            let alerts = try JSONDecoder().decode(Alerts.self, from: Data(answer.utf8)).data.alerts
            return alerts.first {
                $0.labels["alertname"] == name && $0.labels["job"] == "tidegate" && $0.state == "firing"
            }
        }
        let fired = try #require(alert, "\(name) does not fire")
        #expect(fired.annotations["summary"]?.isEmpty == false, "\(name)")
        let description = try #require(fired.annotations["description"])
        #expect(description.contains("127.0.0.1:9843") && !description.contains("<"), "\(description)")
        #expect(fired.annotations["runbook_url"] == "docs/metrics.md#\(name.lowercased())")
        switch name {
        case "TidegateTargetNotRouted": #expect(description.contains("route to barred for"), "\(description)")
        case "TidegateTargetUnreachable": #expect(description.contains("reached closed for"), "\(description)")
        default: break
        }
    }

    private func checkAlerts(_ prometheus: Prometheus, _ span: (Double, Double)) async throws {
        let fired = try await prometheus.query("ALERTS{alertstate=\"firing\"}", from: span.0, to: span.1)
        #expect(Set(fired.compactMap { $0.labels["alertname"] }) == Self.expectedAlerts)
        let now = try await prometheus.query("ALERTS{alertstate=\"firing\",alertname=\"TidegateOurPathLost\"}")
        #expect(now.isEmpty, "the path is back")
    }

    /// The cut as the panels show it: each value that a panel had, in order.
    private func checkHistory(_ prometheus: Prometheus, _ span: (Double, Double)) async throws {
        func steps(_ title: String, _ labels: [String: String] = [:]) async throws -> [Double] {
            let series = try await Dashboard(named: "reachability").history(of: title, prometheus, span)
            let one = try #require(series.first { $0.labels.merging(labels) { $1 } == $0.labels }, "\(title)")
            return one.points.map(\.value).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
        // Nothing answers beyond the other host: the level is limited (4) once a sidecar has looked.
        let levels = try await steps("Level")
        #expect(levels.suffix(4) == [4, 1, 3, 4])
        #expect(try await steps("Carrier", ["device": "uplink"]) == [1, 0, 1])
        #expect(try await steps("Targets with a route", ["target": "origin"]) == [1, 0, 1])
        #expect(try await steps("Targets with a route", ["target": "barred"]) == [0])
        #expect(try await steps("Unreachable reason", ["family": "ipv4", "reason": "no_carrier"]) == [1])
        let held = try await prometheus.query(
            "tidegate_held_tasks{job=\"tidegate\",reason=\"path\"}", from: span.0, to: span.1)
        // The download, the request and the upload.
        #expect(try #require(held.first?.points.map(\.value).max()) >= 3)
    }

    private struct Alerts: Decodable {
        let data: Content

        struct Content: Decodable { let alerts: [Alert] }
    }

    private struct Alert: Decodable {
        let state: String
        let labels: [String: String]
        let annotations: [String: String]
    }
}
