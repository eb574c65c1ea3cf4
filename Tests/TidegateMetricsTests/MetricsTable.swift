internal import TidegateCore

@testable import TidegateMetrics

/// The table of all metrics for people, as `dashboards/METRICS.md` has it.
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

        Everything that `/metrics` has, in its order. Written from the catalogue in the code by
        `\(Self.command)`; a test fails where the two differ.

        | name | type | labels | unit | what it is |
        |---|---|---|---|---|

        """

    private static let ending = """

        Labels in brackets are there with `metrics: {host_label: allowlist|top}` only, and so are metrics marked so. Hosts that
        are not listed, or that come after the first `max_hosts`, are `_other` together.

        Every histogram has classic buckets in each format and native ones (schema 3, 160 buckets at most) in protobuf. Metrics
        marked with exemplars name a task, and its attempt, in OpenMetrics and protobuf.

        Scheduled probes do not exist yet, so that nothing is called `tidegate_probe_…`.

        """

    private static func row(_ definition: MetricDefinition, isUsual: Bool) -> String {
        let labels = definition.labels.map { $0 == "host" && isUsual ? "[`host`]" : "`\($0)`" }.joined(separator: " ")
        let type = definition.typeName + (definition.hasExemplars ? ", exemplars" : "")
        let help = definition.help.replacing("|", with: "\\|") + (isUsual ? "" : " Only with the host label on.")
        return "| `\(definition.name)` | \(type) | \(labels) | \(definition.unit.rawValue) | \(help) |\n"
    }
}
