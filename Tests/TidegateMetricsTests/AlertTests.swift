import Foundation
import Testing
import TidegateTestKit

/// The alerts fire when they should, and only then; the recording rules record what their names say.
@Suite struct AlertTests {
    private let alerts: RuleFile
    private let rules: RuleFile
    private let tests: RuleFile
    private let page: RuleFile

    init() throws {
        self.alerts = try RuleFile("alerts.yml")
        self.rules = try RuleFile("rules.yml")
        self.tests = try RuleFile("tests.yml")
        self.page = try RuleFile("../docs/metrics.md")
    }

    @Test(
        "promtool accepts the rules and their tests",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"))
    func promtool() async throws {
        let folder = Dashboard.folder.path
        let check = try await Program.run(
            ["promtool", "check", "rules", "--lint=all", "--lint-fatal", "\(folder)/alerts.yml", "\(folder)/rules.yml"])
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let test = try await Program.run(["promtool", "test", "rules", "\(folder)/tests.yml"])
        #expect(test.status == 0, "\(test.output) \(test.errors)")
    }

    @Test("Each alert has a firing and a silent case, and a section that says what to do")
    func complete() throws {
        let names = self.alerts.names
        #expect(names.count > 20 && Set(names).count == names.count)
        for alert in names {
            #expect(alert.hasPrefix("Tidegate"))
            #expect(self.tests.text.contains("name: \(alert) fires\n"))
            #expect(self.tests.text.contains("name: \(alert) stays silent\n"))
            #expect(self.page.text.contains("\n### \(alert)\n"))
            #expect(self.alerts.text.contains("docs/metrics.md#\(alert.lowercased())\n"))
        }
        let sections = self.page.text.matches(of: /\n### (\w+)\n/).map { String($0.1) }
        #expect(Set(sections) == Set(names), "a section of the runbook is for an alert that exists")
    }

    @Test("Each alert has a severity, a summary, a description and a runbook")
    func annotations() throws {
        let rules = self.alerts.text.components(separatedBy: "- alert: ").dropFirst()
        #expect(rules.count == self.alerts.names.count)
        for rule in rules {
            let name = rule.prefix { $0 != "\n" }
            #expect(rule.contains(/severity: (critical|warning|info)\n/), "\(name)")
            #expect(rule.contains(/summary: "?[A-Z].*\."?\n/), "\(name)")
            for key in ["description: ", "runbook_url: docs/metrics.md#", "for: "] {
                #expect(rule.contains(key), "\(name)")
            }
        }
    }

    @Test("Each recorded series has a level, a metric and operations in its name, and a value in a test")
    func recorded() throws {
        #expect(!self.rules.names.isEmpty && self.rules.expressions.count == self.rules.names.count)
        for name in self.rules.names {
            #expect(name.wholeMatch(of: /instance[a-z_]*:tidegate_[a-z_]+:[a-z0-9_]+/) != nil, "\(name)")
            #expect(!name.contains("_total"), "\(name) is a rate and no counter")
            #expect(self.tests.text.contains("labels: '\(name){"), "\(name)")
        }
        for expr in self.rules.expressions { #expect(!expr.contains(" by "), "\(expr) loses labels of the target") }
    }

    @Test("Failures of servers, of the network between and the long loss of our path have alerts of their own")
    func parties() throws {
        let parties = [
            "TidegateTheirFailures", "TidegateFailuresBetween", "TidegateOurFailures", "TidegateOurPathLost",
        ]
        #expect(Set(parties).isSubset(of: self.alerts.names))
    }
}
