internal import TidegateCore

@testable import TidegateMetrics

/// The table of all metrics, as `dashboards/METRICS.md` has it.
enum MetricsTable {
    /// The command that writes the file again.
    static let command = "TIDEGATE_WRITE_METRICS=1 swift test --filter MetricsTableTests"

    /// The file's text.
    static var text: String {
        let usual = Set(Fixture().recorder.definitions.map(\.name))
        let rows = Fixture(hostLabel: .top(limit: 50)).recorder.definitions.map {
            self.row($0, isUsual: usual.contains($0.name))
        }
        return self.introduction + rows.joined() + self.ending
    }

    private static let introduction = """
        # Metrics

        Every metric of `/metrics`, in its order. Generated from the catalogue in the code by
        `\(Self.command)`; a test fails if the two differ.

        | name | type | labels | unit | description |
        |---|---|---|---|---|

        """

    private static let ending = """

        Labels in brackets exist only with `metrics: {host_label: allowlist|top}`, and so do metrics marked so. Hosts that are
        not listed, or that come after the first `max_hosts`, share the value `_other`.

        Every histogram has classic buckets in each format and, but for those of observed connections, native ones (schema 3, 160
        buckets at most) in protobuf. Metrics marked with exemplars name a task and its attempt in OpenMetrics and protobuf.

        Where connections of other programs are not observed, `tidegate_observation_mode` is the only one of `tidegate_observed_…`,
        `tidegate_observation_…` and `tidegate_tcp_…` that is there.

        """

    private static func row(_ definition: MetricDefinition, isUsual: Bool) -> String {
        let labels = definition.labels.map { $0 == "host" && isUsual ? "[`host`]" : "`\($0)`" }.joined(separator: " ")
        let type = definition.type.name + (definition.hasExemplars ? ", exemplars" : "")
        let help = definition.help.replacing("|", with: "\\|") + (isUsual ? "" : " Only with the host label on.")
        return "| `\(definition.name)` | \(type) | \(labels) | \(definition.unit.rawValue) | \(help) |\n"
    }
}
