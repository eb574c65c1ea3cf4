/// Chooses the exposition's format as Prometheus's libraries do: the best acceptable format, and never an error.
package enum ContentNegotiation {
    /// The format for an `Accept` header (RFC 9110 12.5.1); nil and unknown types select the text format.
    package static func format(accept header: String?) -> ExpositionFormat {
        let clauses = (header ?? "").split(separator: ",").compactMap(AcceptClause.init)
        var best: (quality: Double, format: ExpositionFormat)?
        for clause in clauses {
            guard clause.quality > best?.quality ?? 0, let format = clause.format else { continue }
            best = (clause.quality, format)
        }
        return best?.format ?? .text
    }

    private struct AcceptClause {
        let type: String
        var version: String?
        var isMetricFamilies = true
        var isDelimited = true
        var quality = 1.0

        init?(_ text: Substring) {
            let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(AcceptClause.trimmed)
            guard let type = parts.first, type.contains("/") else { return nil }
            self.type = type.lowercased()
            for parameter in parts.dropFirst() {
                let pair = parameter.split(separator: "=", maxSplits: 1).map(AcceptClause.trimmed)
                guard pair.count == 2 else { continue }
                switch pair[0].lowercased() {
                case "version": self.version = pair[1]
                case "proto": self.isMetricFamilies = pair[1] == "io.prometheus.client.MetricFamily"
                case "encoding": self.isDelimited = pair[1] == "delimited"
                case "q":
                    guard let quality = Double(pair[1]), (0...1).contains(quality) else { return nil }
                    self.quality = quality
                default: break
                }
            }
        }

        // Without a version, the oldest one is meant.
        var format: ExpositionFormat? {
            switch (self.type, self.version) {
            case ("application/openmetrics-text", "1.0.0"), ("application/*", nil): .openMetrics
            case ("application/openmetrics-text", "0.0.1"), ("application/openmetrics-text", nil): .openMetricsDraft
            case ("application/vnd.google.protobuf", nil) where self.isMetricFamilies && self.isDelimited: .protobuf
            case ("text/plain", "0.0.4"), ("text/plain", nil), ("text/*", nil), ("*/*", nil): .text
            default: nil
            }
        }

        private static func trimmed(_ text: some StringProtocol) -> String {
            let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\"" }
            return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        }
    }
}

/// The formats of the exposition.
public enum ExpositionFormat: Sendable, CaseIterable {
    /// OpenMetrics 1.0.0.
    case openMetrics
    /// OpenMetrics 0.0.1; the body is identical for all metrics used here.
    case openMetricsDraft
    /// The Prometheus text format 0.0.4.
    case text
    /// Prometheus's protobuf messages, each with a length prefix.
    ///
    /// This is the only format with native histograms and start times.
    case protobuf

    /// The `Content-Type` of the body.
    package var contentType: String {
        switch self {
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .openMetricsDraft: "application/openmetrics-text; version=0.0.1; charset=utf-8"
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .protobuf:
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
        }
    }

    var isOpenMetrics: Bool { self == .openMetrics || self == .openMetricsDraft }

    /// True if the format supports exemplars.
    var hasExemplars: Bool { self != .text }
}
