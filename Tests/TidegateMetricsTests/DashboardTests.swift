import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

/// What is charted exists, and what exists is charted.
@Suite struct DashboardTests {
    private let dashboards: [Dashboard]
    private let metrics: KnownMetrics

    init() throws {
        self.dashboards = try Dashboard.names.map { try Dashboard(named: $0) }
        self.metrics = try KnownMetrics()
    }

    @Test("Every metric in a panel, a mark or a variable exists, with the labels used")
    func known() {
        for dashboard in self.dashboards {
            for (title, expr) in dashboard.queries {
                #expect(self.metrics.mistakes(in: expr) == [], "\(dashboard.uid), \(title)")
            }
            for variable in dashboard.templating.list where variable.type == "query" {
                let inner = variable.query.text.drop { $0 != "(" }.dropFirst().prefix { $0 != "," }
                #expect(self.metrics.mistakes(in: String(inner)) == [], "\(dashboard.uid), \(variable.name)")
            }
        }
    }

    @Test("Every metric in an alert or a recording rule exists, with the labels used")
    func knownRules() throws {
        for file in ["alerts.yml", "rules.yml", "rules-fleet.yml"] {
            for expr in try RuleFile(file).expressions {
                #expect(self.metrics.mistakes(in: expr) == [], "\(file): \(expr)")
            }
        }
    }

    @Test("Every metric is charted, or said not to be")
    func charted() throws {
        let queries = self.dashboards.flatMap(\.queries).flatMap { PromQLSelector.all(in: $0.expr) }
        let charted = Set(queries.map { self.metrics.metric(of: $0.name) })
        let lines = try RuleFile("not-charted.txt").text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let excused = Set(lines.compactMap { $0.split(separator: " ").first.map(String.init) })
        #expect(Set(self.metrics.own.keys).subtracting(charted).subtracting(excused) == [])
        #expect(excused.intersection(charted) == [], "these are charted after all")
        #expect(excused.subtracting(self.metrics.own.keys) == [], "these do not exist")
        for line in lines { #expect(line.split(separator: " ").count > 2, "\(line) has no reason") }
    }

    @Test("The dashboards keep their addresses and lead to each other", arguments: Dashboard.names)
    func frame(_ name: String) throws {
        let dashboard = try Dashboard(named: name)
        #expect(dashboard.uid == "tidegate-\(name)")
        #expect(dashboard.description?.hasSuffix(".") == true || dashboard.description?.hasSuffix("?") == true)
        let others = Dashboard.names.filter { $0 != name }.map { "/d/tidegate-\($0)?" }
        #expect(dashboard.links.map { $0.url.prefix { $0 != "?" } + "?" } == others.map { Substring($0) })
        let ways = dashboard.links + dashboard.charts.flatMap { $0.links ?? [] }
        for way in ways {
            #expect(Dashboard.names.contains { way.url.hasPrefix("/d/tidegate-\($0)?") }, "\(way.url)")
            #expect(way.url.contains("${__url_time_range}&${datasource:queryparam}"), "\(way.url)")
        }
    }

    @Test("Dashboards have unique file names, and every file is one of them")
    func files() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Dashboard.folder.path)
        #expect(Set(files.filter { $0.hasSuffix(".json") }) == Set(Dashboard.names.map { "\($0).json" }))
    }

    @Test(
        "Every expression of a panel or a mark is PromQL, and promtool says where one is not",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"))
    func syntax() async throws {
        let expressions = self.dashboards.flatMap(\.queries).map { Dashboard.Query.filled($0.expr) }
        let good = try await self.check(expressions)
        #expect(good.status == 0, "\(good.output) \(good.errors)")
        #expect(good.output.contains("\(expressions.count) rules found"))
        #expect(try await self.check(["sum by (code (up)"]).status != 0)
    }

    private func check(_ expressions: [String]) async throws -> Program.Output {
        let rules = expressions.enumerated().map { number, expr in
            let indented = expr.split(separator: "\n").map { "          \($0)" }.joined(separator: "\n")
            return "      - record: panel:number:\(number)\n        expr: |-\n\(indented)\n"
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        let text = "groups:\n  - name: panels\n    rules:\n" + rules.joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await Program.run(["promtool", "check", "rules", file.path])
    }
}
