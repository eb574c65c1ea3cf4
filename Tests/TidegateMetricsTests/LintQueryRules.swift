internal import Foundation
internal import TidegateTestKit

// MARK: Panels

extension LintRule {
    static let panels = [
        LintRule.panel("panel-datasource") { panel in
            panel.datasource?.uid == "${datasource}"
                && (panel.targets ?? []).allSatisfy { $0.datasource?.uid == "${datasource}" }
        },
        LintRule.panel("panel-title-description") { panel in
            !panel.title.isEmpty && panel.description?.hasSuffix(".") == true
        },
        LintRule.panel("panel-units") { panel in LintRule.units.contains(panel.fieldConfig?.defaults.unit ?? "") },
        LintRule.panel("panel-no-targets") { $0.targets?.isEmpty == false },
        LintRule.panel("panel-legend") { panel in
            (panel.targets ?? []).allSatisfy { target in
                // A label in the legend has to be one that the query keeps.
                let tokens = Set(target.expr.matches(of: /[a-z_]+/).map { String($0.output) })
                let labels = (target.legendFormat ?? "").matches(of: /{{([a-z_]+)}}/).map { String($0.1) }
                return target.legendFormat?.isEmpty == false && tokens.isSuperset(of: labels)
            }
        },
        LintRule("panel-letters") { dashboard in
            dashboard.charts.compactMap { panel in
                let letters = (panel.targets ?? []).map(\.refId)
                return Set(letters).count == letters.count ? nil : "panel \(panel.title)"
            }
        },
        LintRule("panel-numbers") { dashboard in
            let numbers = dashboard.panels.map(\.id)
            return Set(numbers).count == numbers.count ? [] : ["two panels have one number"]
        },
        LintRule("panel-places") { dashboard in
            var taken: Set<[Int]> = []
            return dashboard.panels.filter { panel in
                let place = panel.gridPos
                let cells = (place.x..<place.x + place.w).flatMap { x in
                    (place.y..<place.y + place.h).map { [x, $0] }
                }
                let isFree = taken.isDisjoint(with: cells) && place.x + place.w <= 24
                taken.formUnion(cells)
                return !isFree
            }.map { "panel \($0.title)" }
        },
    ]

    // Those of Grafana's units that mean something here; a unit that Grafana does not know is shown as a suffix.
    private static let units: Set = [
        "none", "short", "percentunit", "bytes", "Bps", "s", "cpm", "cps", "pps", "reqps", "dBm",
    ]
}

// MARK: Queries

extension LintRule {
    static let queries = [
        LintRule("target-promql") { dashboard in
            // Whether it is PromQL altogether is for promtool to say.
            dashboard.queries.filter { !LintRule.isBalanced($0.expr) || PromQLSelector.all(in: $0.expr).isEmpty }
                .map { "\($0.title): \($0.expr)" }
        },
        LintRule.selector("target-job") { selector, _ in selector.has("job", "=~", "$job") },
        LintRule.selector("target-instance") { selector, _ in selector.has("instance", "=~", "$instance") },
        LintRule.selector("target-required-matchers") { selector, _ in
            // A metric's name stands before the braces; tools expect it there.
            !selector.name.isEmpty && !selector.matchers.contains { $0.label == "__name__" }
        },
        LintRule.selector("target-rate-interval") { selector, _ in
            guard let range = selector.range else { return true }
            let isRate = ["rate", "irate"].contains(selector.calls.last)
            return range == "$__rate_interval" || (range == "$__range" && !isRate)
        },
        LintRule.selector("target-counter-agg") { selector, _ in
            let isCounter = ["_total", "_bucket", "_sum", "_count"].contains { selector.name.hasSuffix($0) }
            let isGrowth = ["rate", "irate", "increase"].contains(selector.calls.last) && selector.range != nil
            return !isCounter || isGrowth
        },
        LintRule.selector("target-histogram") { selector, panel in
            !selector.name.hasSuffix("_bucket") || panel?.type == "heatmap"
                || selector.calls.contains("histogram_quantile")
        },
        LintRule.selector("target-canonical-le") { selector, _ in
            // `le="1"` is `le="1.0"` in another format or version; no chart may depend on it.
            !selector.matchers.contains { $0.label == "le" }
        },
    ]

    private static func isBalanced(_ expr: String) -> Bool {
        var open: [Character] = []
        for sign in expr {
            switch sign {
            case "(": open.append(")")
            case "[": open.append("]")
            case "{": open.append("}")
            case ")", "]", "}": if open.popLast() != sign { return false }
            default: break
            }
        }
        return open.isEmpty
    }
}
