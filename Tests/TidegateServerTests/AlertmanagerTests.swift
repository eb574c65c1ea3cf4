import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// A pulled cable alerts the on-call engineer, and resolves the alert when it is back.
@Suite(.serialized) struct AlertmanagerTests {
    private static let isInstalled = ["prometheus", "prometheus-alertmanager"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }

    @Test(
        "The loss of our path reaches a webhook, inhibits the alerts that follow from it, and resolves",
        .enabled(
            if: AlertmanagerTests.isInstalled,
            "prometheus or alertmanager (Debian packages prometheus, prometheus-alertmanager) is not installed"),
        // A scrape that takes longer than its second ends the alert that inhibits the others.
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func roundTrip() async throws {
        let webhook = try LiveServer { _ in .respond(text: "thank you") }
        defer { webhook.stop() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rules = try Dashboard.alerts(in: folder) { _ in 0 }
        let manager = try await Alertmanager(notifying: webhook.url("/page"), in: folder)
        defer { manager.stop() }
        let fixture = Fixture()
        fixture.view.change { $0.status = Self.lost }
        try await fixture.serving { (port: Int) in
            let prometheus = try await Prometheus(scraping: port, rules: [rules], alertmanager: manager.port)
            defer { prometheus.stop() }
            let fired = try #require(await self.page("TidegateOurPathLost", "firing", from: webhook))
            #expect(fired.labels["severity"] == "critical")
            #expect(fired.labels["instance"] == "127.0.0.1:\(port)")
            #expect(fired.annotations["summary"] == "This host has had no default route for 5 minutes.")
            #expect(fired.annotations["description"]?.hasPrefix("127.0.0.1:\(port) has had no path") == true)
            #expect(fired.annotations["runbook_url"] == "docs/metrics.md#tidegateourpathlost")
            // That tasks wait is a consequence, and not told as well; only when the path is back it is news. They begin to
            // wait now, because Alertmanager tells what reaches it before its cause does.
            fixture.view.change { $0.statistics.oldestStart[.waiting] = WallTime(microseconds: 0) }
            let isHeldBack = try await eventually {
                try await manager.isSuppressed("TidegateTasksWaitingLong")
            }
            #expect(isHeldBack)
            // Longer than Alertmanager waits before it tells.
            try await prometheus.scraped(5)
            #expect(try await manager.isSuppressed("TidegateTasksWaitingLong"))
            #expect(!self.pages(webhook).contains { $0.isAbout("TidegateTasksWaitingLong", "firing") })
            fixture.view.change { $0.status = EveryEvent.status }
            _ = try #require(await self.page("TidegateOurPathLost", "resolved", from: webhook))
            _ = try #require(await self.page("TidegateTasksWaitingLong", "firing", from: webhook))
        }
    }

    /// The status of a host whose cable was pulled.
    private static var lost: ReachabilityStatus {
        var status = EveryEvent.status
        status.global = EveryEvent.unplugged
        return status
    }

    private func page(_ name: String, _ status: String, from webhook: LiveServer) async -> Page? {
        await eventualValue { self.pages(webhook).first { $0.isAbout(name, status) } }
    }

    private func pages(_ webhook: LiveServer) -> [Page] {
        webhook.requests.flatMap { request in
            (try? JSONDecoder().decode(Delivery.self, from: Data(request.body)))?.alerts ?? []
        }
    }

    private struct Delivery: Decodable { let alerts: [Page] }

    private struct Page: Decodable {
        let status: String
        let labels: [String: String]
        let annotations: [String: String]

        func isAbout(_ name: String, _ status: String) -> Bool {
            self.labels["alertname"] == name && self.status == status
        }
    }
}
