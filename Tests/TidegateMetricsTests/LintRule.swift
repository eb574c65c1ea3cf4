internal import Foundation
internal import Testing
internal import TidegateTestKit

/// The rules of Grafana's own linter for Prometheus dashboards.
struct LintRule: Sendable, CustomTestStringConvertible {
    let name: String
    /// The violations, one sentence each.
    let findings: @Sendable (Dashboard) -> [String]

    var testDescription: String { self.name }

    static let all = LintRule.frames + LintRule.variables + LintRule.panels + LintRule.queries

    init(_ name: String, _ findings: @escaping @Sendable (Dashboard) -> [String]) {
        self.name = name
        self.findings = findings
    }

    /// A rule on each panel that shows data; true if it holds.
    static func panel(_ name: String, _ holds: @escaping @Sendable (Dashboard.Panel) -> Bool) -> LintRule {
        LintRule(name) { dashboard in dashboard.charts.filter { !holds($0) }.map { "panel \($0.title)" } }
    }

    /// A rule on each selector of each query; true if it holds.
    static func selector(
        _ name: String, _ holds: @escaping @Sendable (PromQLSelector, Dashboard.Panel?) -> Bool
    ) -> LintRule {
        LintRule(name) { dashboard in
            let charts = dashboard.charts.flatMap { panel in
                (panel.targets ?? []).map { (expr: $0.expr, panel: Optional(panel)) }
            }
            let marks = dashboard.annotations.list.map { (expr: $0.expr, panel: Dashboard.Panel?.none) }
            return (charts + marks).flatMap { expr, panel in
                PromQLSelector.all(in: expr).filter { !holds($0, panel) }.map {
                    "\(panel?.title ?? "a mark"): \($0.name)"
                }
            }
        }
    }
}

// MARK: The dashboard as a whole

extension LintRule {
    fileprivate static let frames = [
        LintRule("uneditable-dashboard") { $0.editable ? ["people can change it in place"] : [] },
        LintRule("dashboard-refresh") { $0.refresh == "30s" ? [] : ["refreshes every \($0.refresh)"] },
        LintRule("dashboard-time") { dashboard in
            let time = dashboard.time
            return time.from == "now-6h" && time.to == "now" ? [] : ["shows \(time.from) to \(time.to)"]
        },
        LintRule("dashboard-tag") { $0.tags == ["tidegate"] ? [] : ["cannot be found by its tag"] },
        LintRule("dashboard-schema") { (39...41).contains($0.schemaVersion) ? [] : ["version \($0.schemaVersion)"] },
    ]
}

// MARK: Variables

extension LintRule {
    fileprivate static let variables = [
        LintRule("template-datasource") { dashboard in
            guard let first = dashboard.templating.list.first, first.name == "datasource",
                first.label == "Data source", first.type == "datasource", first.query.text == "prometheus"
            else { return ["the first variable is not the data source"] }
            return []
        },
        LintRule.choice("template-job", of: "job", label: "Job"),
        LintRule.choice("template-instance", of: "instance", label: "Instance"),
        LintRule("template-label-promql") { dashboard in
            dashboard.templating.list.filter { $0.type == "query" }.compactMap { variable in
                let isGood = variable.query.text.wholeMatch(of: /label_values\(([a-z_]+)(\{.*\})?, ([a-z_]+)\)/) != nil
                return isGood ? nil : "variable \(variable.name): \(variable.query.text)"
            }
        },
        LintRule("template-on-time-change-reload") { dashboard in
            dashboard.templating.list.filter { $0.type == "query" && $0.refresh != 2 }.map { "variable \($0.name)" }
        },
        LintRule("template-variable-matchers") { dashboard in
            // The instances offered are those of the chosen jobs.
            dashboard.templating.list.filter { $0.name == "instance" && !$0.query.text.contains("{job=~\"$job\"}") }
                .map { "variable \($0.name): \($0.query.text)" }
        },
        LintRule("template-required-variables") { dashboard in
            let names = dashboard.templating.list.map(\.name)
            return names == ["datasource", "job", "instance"] ? [] : ["variables \(names)"]
        },
        LintRule("template-unused") { dashboard in
            let used =
                dashboard.queries.map(\.expr) + dashboard.templating.list.map(\.query.text)
                + dashboard.charts.compactMap(\.datasource?.uid)
            return dashboard.templating.list.map(\.name).filter { name in
                !used.contains { $0.contains("$\(name)") || $0.contains("${\(name)}") }
            }
        },
    ]

    private static func choice(_ rule: String, of name: String, label: String) -> LintRule {
        LintRule(rule) { dashboard in
            guard let variable = dashboard.templating.list.first(where: { $0.name == name }) else { return ["none"] }
            let isGood =
                variable.type == "query" && variable.label == label && variable.multi == true
                && variable.allValue == ".+" && variable.datasource?.uid == "${datasource}"
            return isGood ? [] : ["variable \(name)"]
        }
    }
}
