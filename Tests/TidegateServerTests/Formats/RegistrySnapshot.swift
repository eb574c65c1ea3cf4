internal import Foundation
internal import TidegateMetrics
internal import TidegateTestKit

@testable import TidegateServer

/// The samples of the endpoint's registry, read without a scrape.
struct RegistrySnapshot {
    /// Every sample of the text formats.
    let numbers: [SeriesKey: Double]

    init(_ fixture: Fixture) {
        let pairs = fixture.routes.status.samples(inFlight: 1).map { sample in
            let labels = sample.labels.map { ($0.name, $0.value) }
            return (SeriesKey(name: sample.name, labels: Dictionary(labels) { first, _ in first }), sample.value)
        }
        // A series with two samples is an error: NaN equals nothing.
        self.numbers = Dictionary(pairs) { _, _ in .nan }
    }

    /// The exemplars that an OpenMetrics exposition shows, by series.
    static func exemplars(_ fixture: Fixture) async throws -> [SeriesKey: Shown] {
        let body = try await fixture.respond("GET", "/metrics", accept: "application/openmetrics-text;version=1.0.0")
            .body
        var shown: [SeriesKey: Shown] = [:]
        for line in String(decoding: body, as: UTF8.self).split(separator: "\n") {
            guard let mark = line.range(of: " # {"), let end = line.range(of: "} ", options: .backwards) else {
                continue
            }
            let numbers = line[end.upperBound...].split(separator: " ").compactMap { Double($0) }
            guard numbers.count == 2 else { continue }
            shown[self.series(line[..<mark.lowerBound])] = Shown(
                labels: self.labels(line[mark.upperBound..<end.lowerBound]), value: numbers[0], timestamp: numbers[1])
        }
        return shown
    }

    /// An exemplar of the exposition.
    struct Shown: Hashable {
        let labels: [String: String]
        let value: Double
        let timestamp: Double
    }

    /// The native histograms of a protobuf exposition, read back from their spans and deltas.
    static func natives(_ fixture: Fixture) async throws -> [SeriesKey: [NativeBucket]] {
        let type = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
        let families = try ProtobufMessage.stream(try await fixture.respond("GET", "/metrics", accept: type).body)
        var natives: [SeriesKey: [NativeBucket]] = [:]
        for family in families {
            for metric in family.messages(4) {
                guard let histogram = metric.messages(7).first, let name = family.strings(1).first else { continue }
                let pairs = metric.messages(1).map { ($0.strings(1).first ?? "", $0.strings(2).first ?? "") }
                let key = SeriesKey(name: name, labels: Dictionary(pairs) { first, _ in first })
                natives[key] = try self.buckets(of: histogram)
            }
        }
        return natives
    }

    private static func buckets(of histogram: ProtobufMessage) throws -> [NativeBucket] {
        let schema = Double(ProtobufMessage.signed(histogram.numbers(5).first ?? 0))
        let threshold = histogram.doubles(6).first ?? 0
        var deltas = try (histogram.bytes(13).first.map { try ProtobufMessage.packed($0) } ?? [])[...]
        let zero = Double(histogram.numbers(7).first ?? 0)
        var buckets = zero > 0 ? [NativeBucket(left: -threshold, right: threshold, count: zero)] : []
        var (key, count): (Int64, Int64) = (0, 0)
        for span in histogram.messages(12) {
            key += ProtobufMessage.signed(span.numbers(1).first ?? 0)
            for _ in 0..<(span.numbers(2).first ?? 0) {
                count += deltas.popFirst() ?? 0
                // Bucket number n ends at 2^(n / 2^schema).
                let steps = pow(2, schema)
                let (left, right) = (pow(2, Double(key - 1) / steps), pow(2, Double(key) / steps))
                if count > 0 { buckets.append(NativeBucket(left: left, right: right, count: Double(count))) }
                key += 1
            }
        }
        return buckets
    }

    private static func series(_ line: Substring) -> SeriesKey {
        let name = line.prefix { $0 != "{" && $0 != " " }
        let end = line.lastIndex(of: "}") ?? line.startIndex
        let start = line.firstIndex(of: "{").map { line.index(after: $0) } ?? end
        return SeriesKey(name: String(name), labels: start < end ? self.labels(line[start..<end]) : [:])
    }

    private static func labels(_ text: Substring) -> [String: String] {
        let pairs = text.matches(of: /([a-z_]+)="((?:[^"\\]|\\.)*)"/).map { (String($0.1), String($0.2)) }
        return Dictionary(pairs) { first, _ in first }
    }
}
