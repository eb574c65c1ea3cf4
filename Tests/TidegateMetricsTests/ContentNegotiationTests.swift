import Testing

@testable import TidegateMetrics

@Suite struct ContentNegotiationTests {
    private static let prometheus242 =
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
        + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    private static let nativeHistograms =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
        + "application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,"
        + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    private static let prometheus314 =
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
        + "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
        + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
    private static let protobufFirst =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
        + "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1"
    private static let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

    @Test(
        "Scrapers and people get the best format that they accept, and never a refusal",
        arguments: [
            (Self.prometheus242, .openMetrics), (Self.nativeHistograms, .protobuf),
            (Self.prometheus314, .openMetrics), (Self.protobufFirst, .protobuf), (Self.browser, .text),
            (nil, .text), ("", .text), ("*/*", .text), ("text/*", .text), ("application/*", .openMetrics),
            ("application/json", .text), ("application/openmetrics-text", .openMetricsDraft),
            ("application/openmetrics-text; version=0.0.1", .openMetricsDraft),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
            ("application/openmetrics-text; version=\"1.0.0\"", .openMetrics),
            ("application/openmetrics-text;version=2.0.0", .text),
            (
                "application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0;q=0.1",
                .openMetrics
            ),
            ("text/plain;version=1.0.0", .text), ("text/plain", .text),
            ("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.8", .text),
            ("text/plain;q=0.5,application/openmetrics-text;version=1.0.0;q=0.5", .text),
            ("application/openmetrics-text;version=1.0.0;q=0", .text),
            ("application/openmetrics-text;version=1.0.0;q=0,text/plain;q=0.1", .text),
            ("APPLICATION/OpenMetrics-Text;Version=1.0.0;Q=1", .openMetrics),
            ("application/openmetrics-text;version=1.0.0;q=nonsense,text/plain;q=0.1", .text),
            ("application/openmetrics-text;version=1.0.0;q=7,text/plain;q=0.1", .text),
            (" application/openmetrics-text ; version=1.0.0 ; q=0.3 , text/plain ; q=0.2 ", .openMetrics),
            ("application/vnd.google.protobuf;proto=other.Message;encoding=delimited,text/plain;q=0.1", .text),
            ("application/vnd.google.protobuf;encoding=text,application/openmetrics-text;q=0.1", .openMetricsDraft),
            (";;,,/;=,q=1", .text),
        ] as [(String?, ExpositionFormat)])
    func format(_ header: String?, _ expected: ExpositionFormat) {
        #expect(ContentNegotiation.format(accept: header) == expected)
    }

    @Test("Content types are spelled as the formats demand")
    func contentTypes() {
        #expect(
            ExpositionFormat.openMetrics.contentType == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(
            ExpositionFormat.openMetricsDraft.contentType
                == "application/openmetrics-text; version=0.0.1; charset=utf-8")
        #expect(ExpositionFormat.text.contentType == "text/plain; version=0.0.4; charset=utf-8")
    }
}
