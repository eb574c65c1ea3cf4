import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

/// What is charted exists, and what exists is charted.
@Suite struct DashboardTests {
    private let dashboard: Dashboard
    private let definitions: [String: MetricDefinition]

    init() throws {
        self.dashboard = try Dashboard(named: "overview.json")
        let pairs = Fixture().recorder.definitions.map { ($0.name, $0) }
        self.definitions = Dictionary(pairs) { first, _ in first }
    }

    private var queries: [(title: String, expr: String)] {
        self.dashboard.panels.flatMap { panel in (panel.targets ?? []).map { (panel.title, $0.expr) } }
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOf: Dashboard.folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test("Every metric in a panel or an alert is in the catalogue, with the labels asked for")
    func known() throws {
        let alerts = try self.text("alerts.yml").split(separator: "\n").filter { !$0.contains(": ") }
        for (title, expr) in self.queries + [("alerts.yml", alerts.joined(separator: "\n"))] {
            for use in MetricUse.all(in: expr) {
                guard let definition = self.definitions[use.metric(in: self.definitions)] else {
                    Issue.record("\(title): there is no \(use.name)")
                    continue
                }
                let unknown = Set(use.labels).subtracting(definition.labels + ["job", "instance", "le"])
                #expect(unknown.isEmpty, "\(title): \(use.name) has no \(unknown)")
            }
        }
    }

    @Test("Every metric is charted, or said not to be")
    func charted() throws {
        let charted = Set(
            self.queries.flatMap { MetricUse.all(in: $0.expr) }.map { $0.metric(in: self.definitions) })
        let lines = try self.text("not-charted.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
        let excused = Set(lines.compactMap { $0.split(separator: " ").first.map(String.init) })
        #expect(Set(self.definitions.keys).subtracting(charted).subtracting(excused) == [])
        #expect(excused.intersection(charted) == [], "these are charted after all")
        #expect(excused.subtracting(self.definitions.keys) == [], "these do not exist")
        for line in lines { #expect(line.split(separator: " ").count > 2, "\(line) has no reason") }
    }

    @Test("Counters are looked at as rates, and rates over the interval that Grafana finds")
    func rates() {
        for (title, expr) in self.queries {
            for use in MetricUse.all(in: expr) where use.name.hasSuffix("_total") || use.name.hasSuffix("_bucket") {
                #expect(["rate(", "increase("].contains { use.before.hasSuffix($0) }, "\(title): \(use.name)")
            }
            let ranges = expr.matches(of: /\[(.+?)\]/).map { String($0.1) }
            #expect(ranges.allSatisfy { $0 == "$__rate_interval" || $0 == "$__range" }, "\(title)")
        }
    }

    @Test("Every panel has a unit, a description, a place of its own and the chosen data source")
    func panels() {
        var taken: Set<[Int]> = []
        for panel in self.dashboard.panels {
            for x in panel.gridPos.x..<panel.gridPos.x + panel.gridPos.w {
                #expect(x < 24)
                for y in panel.gridPos.y..<panel.gridPos.y + panel.gridPos.h {
                    #expect(taken.insert([x, y]).inserted, "\(panel.title) overlaps another")
                }
            }
            guard panel.type != "row" else { continue }
            #expect(panel.description?.hasSuffix(".") == true, "\(panel.title)")
            #expect(panel.fieldConfig?.defaults.unit?.isEmpty == false, "\(panel.title)")
            #expect(panel.datasource?.uid == "${datasource}", "\(panel.title)")
            #expect(panel.targets?.isEmpty == false, "\(panel.title)")
            let letters = (panel.targets ?? []).map(\.refId)
            #expect(Set(letters).count == letters.count, "\(panel.title)")
            for target in panel.targets ?? [] {
                #expect(target.expr.contains("job=~\"$job\",instance=~\"$instance\""), "\(panel.title)")
            }
        }
    }

    @Test("The dashboard keeps its address and lets people choose")
    func frame() {
        #expect(self.dashboard.uid == "tidegate-overview")
        #expect(self.dashboard.schemaVersion >= 39)
        #expect(!self.dashboard.editable)
        #expect(self.dashboard.templating.list.map(\.name) == ["datasource", "job", "instance"])
    }

    @Test(
        "Every expression of a panel is PromQL",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"))
    func syntax() async throws {
        let expressions = self.dashboard.panels.flatMap { $0.targets ?? [] }.map(\.filled)
        let rules = expressions.enumerated().map { number, expr in
            let indented = expr.split(separator: "\n").map { "          \($0)" }.joined(separator: "\n")
            return "      - record: panel:number:\(number)\n        expr: |-\n\(indented)\n"
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        let text = "groups:\n  - name: panels\n    rules:\n" + rules.joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try await Program.run(["promtool", "check", "rules", file.path])
        #expect(output.status == 0, "\(output.output) \(output.errors)")
        #expect(output.output.contains("\(expressions.count) rules found"))
    }
}

/// One place where an expression names a metric of ours.
struct MetricUse {
    let name: String
    let labels: [String]
    /// The expression up to the name.
    let before: String

    static func all(in expr: String) -> [MetricUse] {
        expr.matches(of: /\b((?:tidegate|process)_[a-z_]+)(?:\{([^}]*)\})?/).map { match in
            let matchers = (match.2 ?? "").matches(of: /([a-z_]+)\s*(?:=~|!=|!~|=)/)
            return MetricUse(
                name: String(match.1), labels: matchers.map { String($0.1) },
                before: String(expr[..<match.range.lowerBound]))
        }
    }

    /// The metric behind the name: a histogram's samples have endings of their own.
    func metric(in definitions: [String: MetricDefinition]) -> String {
        guard definitions[self.name] == nil else { return self.name }
        let ending = ["_bucket", "_sum", "_count"].first { self.name.hasSuffix($0) }
        return ending.map { String(self.name.dropLast($0.count)) } ?? self.name
    }
}
