import Foundation
import Testing
import TidegateTestKit

/// The alerts fire when they should, and only then.
@Suite struct AlertTests {
    private func text(_ name: String) throws -> String {
        try String(contentsOf: Dashboard.folder.appendingPathComponent(name), encoding: .utf8)
    }

    private func alerts() throws -> [String] {
        try self.text("alerts.yml").matches(of: /- alert: (\w+)/).map { String($0.1) }
    }

    @Test(
        "promtool accepts the rules and their tests",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"))
    func promtool() async throws {
        let folder = Dashboard.folder.path
        let check = try await Program.run(
            ["promtool", "check", "rules", "--lint=all", "--lint-fatal", "\(folder)/alerts.yml"])
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let test = try await Program.run(["promtool", "test", "rules", "\(folder)/tests.yml"])
        #expect(test.status == 0, "\(test.output) \(test.errors)")
    }

    @Test("Each alert has a firing and a silent case, and a section that says what to do")
    func complete() throws {
        let alerts = try self.alerts()
        #expect(!alerts.isEmpty && Set(alerts).count == alerts.count)
        let (rules, tests, readme) = (
            try self.text("alerts.yml"), try self.text("tests.yml"), try self.text("README.md")
        )
        for alert in alerts {
            #expect(alert.hasPrefix("Tidegate"))
            #expect(tests.contains("name: \(alert) fires\n"))
            #expect(tests.contains("name: \(alert) stays silent\n"))
            #expect(readme.contains("\n### \(alert)\n"))
            #expect(rules.contains("dashboards/README.md#\(alert.lowercased())\n"))
        }
    }

    @Test("Each alert has a severity, a summary, a description and a runbook")
    func annotations() throws {
        for rule in try self.text("alerts.yml").components(separatedBy: "- alert: ").dropFirst() {
            let name = rule.prefix { $0 != "\n" }
            #expect(rule.contains(/severity: (critical|warning|info)\n/), "\(name)")
            #expect(rule.contains(/summary: "?[A-Z].*\."?\n/), "\(name)")
            for key in ["description: ", "runbook_url: dashboards/README.md#", "for: "] {
                #expect(rule.contains(key), "\(name)")
            }
        }
    }

    @Test("Their failures and the long loss of our path are told apart")
    func parties() throws {
        let alerts = try self.alerts()
        #expect(alerts.contains("TidegateTheirFailures"))
        #expect(alerts.contains("TidegateOurPathLost"))
    }
}
