/// The formats of an exposition.
public enum ExpositionFormat: Sendable, CaseIterable {
    /// OpenMetrics 1.0.0.
    case openMetrics
    /// OpenMetrics 0.0.1; the body is the same for everything in use here.
    case openMetricsDraft
    /// The Prometheus text format 0.0.4.
    case text
    /// Prometheus's protobuf messages, each with its length before it: the only format for native histograms and start
    /// times.
    case protobuf

    /// The `Content-Type` that goes with the body.
    package var contentType: String {
        switch self {
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .openMetricsDraft: "application/openmetrics-text; version=0.0.1; charset=utf-8"
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .protobuf:
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
        }
    }

    var isOpenMetrics: Bool {
        switch self {
        case .openMetrics, .openMetricsDraft: true
        case .text, .protobuf: false
        }
    }

    /// Whether exemplars have a place in it.
    var hasExemplars: Bool { self != .text }
}
