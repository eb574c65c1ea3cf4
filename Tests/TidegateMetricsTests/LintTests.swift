internal import Foundation
internal import Testing
internal import TidegateTestKit

/// The dashboards are as Grafana's own linter wants them, and the rules see what breaks them.
@Suite struct LintTests {
    /// A change to the good sample that breaks a rule.
    struct Sample: Sendable, CustomTestStringConvertible {
        let rule: String
        let from: String
        let to: String

        init(_ rule: String, _ from: String, _ to: String) {
            (self.rule, self.from, self.to) = (rule, from, to)
        }

        var testDescription: String { "\(self.rule): \(self.to)" }
    }

    static let good = #"""
        {"uid": "sample", "title": "Sample", "tags": ["tidegate"], "schemaVersion": 39, "editable": false,
         "refresh": "30s", "time": {"from": "now-6h", "to": "now"}, "links": [], "annotations": {"list": []},
         "templating": {"list": [
          {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
          {"name": "job", "label": "Job", "type": "query", "query": {"query": "label_values(up, job)"},
           "datasource": {"uid": "${datasource}"}, "refresh": 2, "multi": true, "allValue": ".+"},
          {"name": "instance", "label": "Instance", "type": "query", "datasource": {"uid": "${datasource}"},
           "query": {"query": "label_values(up{job=~\"$job\"}, instance)"},
           "refresh": 2, "multi": true, "allValue": ".+"}]},
         "panels": [
          {"id": 1, "title": "Row", "type": "row", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}},
          {"id": 2, "title": "Tries", "type": "timeseries", "description": "Tries made.",
           "gridPos": {"x": 0, "y": 1, "w": 24, "h": 8}, "datasource": {"uid": "${datasource}"},
           "fieldConfig": {"defaults": {"unit": "reqps"}},
           "targets": [
            {"refId": "A", "legendFormat": "{{code}}", "datasource": {"uid": "${datasource}"},
             "expr": "sum by (code) (rate(tries_total{job=~\"$job\",instance=~\"$instance\"}[$__rate_interval]))"},
            {"refId": "B", "legendFormat": "p99", "datasource": {"uid": "${datasource}"},
             "expr": "histogram_quantile(0.99, sum by (le) (rate(s_bucket{job=~\"$job\",instance=~\"$instance\"}[$__rate_interval])))"}
           ]}]}
        """#

    static let bad = [
        Sample("uneditable-dashboard", #""editable": false"#, #""editable": true"#),
        Sample("dashboard-refresh", #""refresh": "30s""#, #""refresh": """#),
        Sample("dashboard-time", "now-6h", "now-90d"),
        Sample("dashboard-tag", #"["tidegate"]"#, "[]"),
        Sample("dashboard-schema", #""schemaVersion": 39"#, #""schemaVersion": 16"#),
        Sample("template-datasource", #""name": "datasource""#, #""name": "ds""#),
        Sample("template-datasource", #""query": "prometheus""#, #""query": "loki""#),
        Sample("template-datasource", "Data source", "Source"),
        Sample("template-job", #""name": "job""#, #""name": "jobs""#),
        Sample("template-job", #""label": "Job""#, #""label": "job""#),
        Sample("template-instance", #""name": "instance""#, #""name": "host""#),
        Sample("template-instance", #""multi": true, "allValue": ".+"}]"#, #""multi": false, "allValue": ".+"}]"#),
        Sample("template-instance", #""allValue": ".+"}]"#, #""allValue": ".*"}]"#),
        Sample("template-label-promql", "label_values(up, job)", "label_values(up{, job)"),
        Sample("template-on-time-change-reload", #""refresh": 2"#, #""refresh": 1"#),
        Sample("template-variable-matchers", #"{job=~\"$job\"}, instance)"#, ", instance)"),
        Sample(
            "template-required-variables", #"{"name": "job""#,
            #"{"name": "x", "type": "custom", "query": "y"}, {"name": "job""#
        ),
        Sample(
            "template-unused", #"{"name": "job""#, #"{"name": "x", "type": "custom", "query": "y"}, {"name": "job""#),
        Sample(
            "panel-datasource", #""h": 8}, "datasource": {"uid": "${datasource}"}"#,
            #""h": 8}, "datasource": {"uid": "P1"}"#),
        Sample(
            "panel-datasource", #""p99", "datasource": {"uid": "${datasource}"}"#,
            #""p99", "datasource": {"uid": "P1"}"#),
        Sample("panel-title-description", "Tries made.", ""),
        Sample("panel-title-description", #""title": "Tries""#, #""title": """#),
        Sample("panel-units", "reqps", "requests"),
        Sample("panel-units", #""unit": "reqps""#, ""),
        Sample("panel-no-targets", #""targets": ["#, #""old": ["#),
        Sample("panel-legend", "{{code}}", "{{status}}"),
        Sample("panel-legend", #""legendFormat": "p99""#, #""legendFormat": """#),
        Sample("panel-letters", #""refId": "B""#, #""refId": "A""#),
        Sample("panel-numbers", #""id": 2"#, #""id": 1"#),
        Sample("panel-places", #""y": 1, "w": 24"#, #""y": 0, "w": 24"#),
        Sample("panel-places", #""x": 0, "y": 1"#, #""x": 1, "y": 1"#),
        Sample("target-promql", "interval]))\"},", "interval])\"},"),
        Sample("target-promql", #"sum by (code) (rate("#, #"1 + 1"# + #"", "was": "("#),
        Sample("target-job", #"tries_total{job=~\"$job\","#, "tries_total{"),
        Sample("target-job", #"tries_total{job=~"#, #"tries_total{job="#),
        Sample("target-instance", #"s_bucket{job=~\"$job\",instance=~\"$instance\"}"#, #"s_bucket{job=~\"$job\"}"#),
        Sample("target-required-matchers", "tries_total{", #"{__name__=\"tries_total\","#),
        Sample("target-rate-interval", "[$__rate_interval]))\"},", "[5m]))\"},"),
        Sample("target-rate-interval", "[$__rate_interval]))\"},", "[$__range]))\"},"),
        Sample("target-counter-agg", "(rate(tries_total", "(avg_over_time(tries_total"),
        Sample("target-counter-agg", "[$__rate_interval]))\"},", "))\"},"),
        Sample("target-histogram", "histogram_quantile(0.99, sum by (le) ", "max(1, sum by (le) "),
        Sample("target-canonical-le", "s_bucket{", #"s_bucket{le=\"1\","#),
    ]

    private func dashboard(_ json: String) throws -> Dashboard { try Dashboard(json: Data(json.utf8)) }

    @Test("Every dashboard keeps every rule", arguments: Dashboard.names)
    func clean(_ name: String) throws {
        let dashboard = try Dashboard(named: name)
        for rule in LintRule.all { #expect(rule.findings(dashboard) == [], "\(rule.name)") }
    }

    @Test("The good sample keeps every rule", arguments: LintRule.all)
    func good(_ rule: LintRule) throws {
        #expect(rule.findings(try self.dashboard(Self.good)) == [])
    }

    @Test("A rule sees what breaks it", arguments: bad)
    func seen(_ sample: Sample) throws {
        let rule = try #require(LintRule.all.first { $0.name == sample.rule })
        let changed = try #require(Self.good.range(of: sample.from))
        let json = Self.good.replacingCharacters(in: changed, with: sample.to)
        #expect(try rule.findings(self.dashboard(json)) != [])
    }

    @Test("Each rule has a bad sample")
    func complete() {
        #expect(Set(Self.bad.map(\.rule)) == Set(LintRule.all.map(\.name)))
    }

    @Test("Selectors are found with their labels, their range and what is around them")
    func selectors() {
        let expr =
            #"time() - min by (a) (x{j="1",k!~"}"}) / on (job) group_left () (sum(rate(y_total[5m])) or z) + {l="m"}"#
        #expect(
            PromQLSelector.all(in: expr) == [
                PromQLSelector(
                    name: "x",
                    matchers: [
                        .init(label: "j", operation: "=", value: "1"), .init(label: "k", operation: "!~", value: "}"),
                    ],
                    calls: ["min"]),
                PromQLSelector(name: "y_total", range: "5m", calls: ["", "sum", "rate"]),
                PromQLSelector(name: "z", calls: [""]),
                PromQLSelector(name: "", matchers: [.init(label: "l", operation: "=", value: "m")], calls: []),
            ])
    }
}
