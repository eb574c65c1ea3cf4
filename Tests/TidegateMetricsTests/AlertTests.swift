import Foundation
import Testing
import TidegateTestKit

/// The alerts fire when they should, and only then; the recording rules record what their names say.
@Suite struct AlertTests {
    /// Files with rules, and the file with their tests.
    struct TestedRules: Sendable, CustomTestStringConvertible {
        let files: [String]
        let tests: String

        var testDescription: String { self.files.joined(separator: " and ") }

        fileprivate func read() throws -> [RuleFile] { try self.files.map { try RuleFile($0) } }

        // The name of a recorded series has colons.
        fileprivate func alerts() throws -> [String] { try self.read().flatMap(\.names).filter { !$0.contains(":") } }

        fileprivate func records() throws -> [String] { try self.read().flatMap(\.names).filter { $0.contains(":") } }
    }

    static let ofHosts = TestedRules(files: ["alerts.yml", "rules.yml"], tests: "tests.yml")
    static let ofFleets = TestedRules(files: ["rules-fleet.yml"], tests: "tests-fleet.yml")
    static let all = [ofHosts, ofFleets]

    private let page: RuleFile

    init() throws { self.page = try RuleFile("../docs/metrics.md") }

    @Test(
        "promtool accepts the rules and their tests",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"),
        arguments: all)
    func promtool(_ rules: TestedRules) async throws {
        let folder = Dashboard.folder.path
        let files = rules.files.map { "\(folder)/\($0)" }
        let check = try await Program.run(["promtool", "check", "rules", "--lint=all", "--lint-fatal"] + files)
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let test = try await Program.run(["promtool", "test", "rules", "\(folder)/\(rules.tests)"])
        #expect(test.status == 0, "\(test.output) \(test.errors)")
    }

    @Test(
        "amtool accepts the example for Alertmanager, which names an alert that exists",
        .enabled(if: Oracle.exists("amtool"), "amtool (Debian package prometheus-alertmanager) is not installed"))
    func alertmanager() async throws {
        let check = try await Program.run(["amtool", "check-config", "\(Dashboard.folder.path)/alertmanager.yml"])
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let names = try RuleFile("alertmanager.yml").text.matches(of: /alertname !?= (\w+)/).map { String($0.1) }
        #expect(!names.isEmpty)
        #expect(try Set(names).isSubset(of: Self.ofFleets.alerts()))
    }

    @Test("Each alert has a firing and a silent case, and a section that says what to do", arguments: all)
    func complete(_ rules: TestedRules) throws {
        let (names, tests) = (try rules.alerts(), try RuleFile(rules.tests))
        let text = try rules.read().map(\.text).joined()
        #expect(!names.isEmpty && Set(names).count == names.count)
        for alert in names {
            #expect(alert.hasPrefix("Tidegate"))
            #expect(tests.text.contains("name: \(alert) fires\n"))
            #expect(tests.text.contains("name: \(alert) stays silent\n"))
            #expect(self.page.text.contains("\n### \(alert)\n"))
            #expect(text.contains("docs/metrics.md#\(alert.lowercased())\n"))
        }
    }

    @Test("A section of the runbook is for an alert that exists")
    func sections() throws {
        let names = try Self.all.flatMap { try $0.alerts() }
        #expect(names.count > 40 && Set(names).count == names.count)
        let sections = self.page.text.matches(of: /\n### (\w+)\n/).map { String($0.1) }
        #expect(Set(sections) == Set(names))
    }

    @Test("Each alert has a severity, a summary, a description and a runbook", arguments: all)
    func annotations(_ rules: TestedRules) throws {
        let texts = try rules.read().flatMap { $0.text.components(separatedBy: "- alert: ").dropFirst() }
        #expect(try texts.count == rules.alerts().count)
        for text in texts {
            let name = text.prefix { $0 != "\n" }
            #expect(text.contains(/severity: (critical|warning|info)\n/), "\(name)")
            #expect(text.contains(/summary: "?[A-Z].*\."?\n/), "\(name)")
            for key in ["description: ", "runbook_url: docs/metrics.md#", " for: "] {
                #expect(text.contains(key), "\(name)")
            }
        }
    }

    @Test(
        "Each recorded series has a level, a metric and operations in its name, and a value in a test", arguments: all)
    func recorded(_ rules: TestedRules) throws {
        let (names, tests) = (try rules.records(), try RuleFile(rules.tests))
        #expect(!names.isEmpty)
        for name in names {
            #expect(name.wholeMatch(of: /[a-z_]+:tidegate_[a-z_]+:[a-z0-9_]+/) != nil, "\(name)")
            #expect(!name.contains("_total"), "\(name) is a rate and no counter")
            #expect(tests.text.contains("labels: '\(name){"), "\(name)")
        }
        for file in try rules.read() { #expect(file.expressions.count == file.names.count) }
    }

    @Test("The rules of one host keep the labels of its scrape")
    func labels() throws {
        let rules = try RuleFile("rules.yml")
        for name in rules.names { #expect(name.hasPrefix("instance"), "\(name)") }
        for expr in rules.expressions { #expect(!expr.contains(" by "), "\(expr) loses labels of the target") }
    }

    @Test("Failures of servers, of the network between and the long loss of our path have alerts of their own")
    func parties() throws {
        let parties = [
            "TidegateTheirFailures", "TidegateFailuresBetween", "TidegateOurFailures", "TidegateOurPathLost",
        ]
        #expect(try Set(parties).isSubset(of: Self.ofHosts.alerts()))
    }
}
