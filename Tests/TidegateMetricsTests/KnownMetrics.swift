internal import Foundation
internal import TidegateCore
internal import TidegateTestKit

@testable import TidegateMetrics

/// The metrics that an expression may name: the catalogue's, Prometheus' own, blackbox_exporter's, and recorded ones.
struct KnownMetrics {
    /// The catalogue's metrics by name.
    let own: [String: MetricDefinition]
    private let recorded: Set<String>

    // What Prometheus adds to every target, and what it says about alerts.
    private static let prometheus: [String: [String]] = [
        "up": [], "scrape_duration_seconds": [], "ALERTS": ["alertname", "alertstate"],
    ]

    // The series of a probe (blackbox_exporter's contract), as far as they are used.
    private static let probes: [String: [String]] = [
        "probe_success": [], "probe_duration_seconds": [], "probe_dns_lookup_time_seconds": [],
        "probe_http_duration_seconds": ["phase"], "probe_http_status_code": [], "probe_http_version": [],
        "probe_http_redirects": [], "probe_http_uncompressed_body_length": [], "probe_ip_protocol": [],
        "probe_ssl_earliest_cert_expiry": [], "probe_tls_version_info": ["version"],
    ]

    init() throws {
        // With everything that can be switched on.
        let pairs = Fixture(hostLabel: .top(limit: 50)).recorder.definitions.map { ($0.name, $0) }
        self.own = Dictionary(pairs) { first, _ in first }
        self.recorded = Set(try ["rules.yml", "rules-fleet.yml"].flatMap { try RuleFile($0).names })
    }

    /// The metric behind a sample's name: a histogram's samples have endings of their own.
    func metric(of name: String) -> String {
        guard self.own[name] == nil else { return name }
        let ending = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
        return ending.map { String(name.dropLast($0.count)) } ?? name
    }

    /// Names and labels in `expr` that do not exist.
    func mistakes(in expr: String) -> [String] {
        PromQLSelector.all(in: expr).flatMap { selector -> [String] in
            if self.recorded.contains(selector.name) { return [] }
            guard let labels = self.labels(of: selector.name) else { return ["there is no \(selector.name)"] }
            let unknown = Set(selector.matchers.map(\.label)).subtracting(labels + ["job", "instance"])
            return unknown.map { "\(selector.name) has no \($0)" }
        }
    }

    private func labels(of name: String) -> [String]? {
        if let definition = self.own[self.metric(of: name)] {
            return definition.labels + (name.hasSuffix("_bucket") ? ["le"] : [])
        }
        return Self.prometheus[name] ?? Self.probes[name]
    }
}

/// A file of the folder `dashboards` with rules for Prometheus.
struct RuleFile {
    let text: String

    init(_ name: String) throws {
        self.text = try String(contentsOf: Dashboard.folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// The names of alerts and recorded series.
    var names: [String] { self.text.matches(of: /- (?:alert|record): ([A-Za-z0-9_:]+)\n/).map { String($0.1) } }

    /// What they are computed from.
    var expressions: [String] {
        self.text.matches(of: /expr: >-\n((?: {10}.*\n)+)/).map { match in
            match.1.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
        }
    }
}
