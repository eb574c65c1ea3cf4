internal import Foundation
internal import TidegateTestKit

/// What a Prometheus has stored, as its HTTP API tells it.
struct PrometheusParse: Decodable {
    let data: Content

    struct Content: Decodable { let result: [Entry] }

    /// The newest sample of one series: a number or a native histogram.
    struct Entry: Decodable {
        let metric: [String: String]
        let value: [Part]?
        let histogram: [HistogramPart]?

        /// The name and the labels that came with the scrape.
        var series: SeriesKey {
            let own = self.metric.filter { !["__name__", "job", "instance"].contains($0.key) }
            return SeriesKey(name: self.metric["__name__"] ?? "", labels: own)
        }

        var number: Double? { self.value?.compactMap(\.number).last }

        var native: StoredHistogram? { self.histogram?.compactMap(\.histogram).last }
    }

    // A time as a number, then the value as a text.
    struct Part: Decodable {
        let number: Double?

        init(from decoder: any Decoder) throws {
            let text = try? decoder.singleValueContainer().decode(String.self)
            self.number = text.flatMap { Double($0.replacingOccurrences(of: "Inf", with: "inf")) }
        }
    }

    struct HistogramPart: Decodable {
        let histogram: StoredHistogram?

        init(from decoder: any Decoder) throws {
            self.histogram = try? decoder.singleValueContainer().decode(StoredHistogram.self)
        }
    }
}

/// A series by its name and labels.
struct SeriesKey: Hashable {
    var name: String
    var labels: [String: String]
}

/// A native histogram as Prometheus gives it back.
struct StoredHistogram: Decodable {
    let count: String
    let sum: String
    let buckets: [[Cell]]?

    /// The buckets that have something in them, from below.
    var native: [NativeBucket] {
        (self.buckets ?? []).map { NativeBucket(left: $0[1].number, right: $0[2].number, count: $0[3].number) }
    }

    // Which ends belong to the bucket as a number, then two bounds and the count as texts.
    struct Cell: Decodable {
        let number: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let text = try? container.decode(String.self)
            self.number = try text.flatMap(Double.init) ?? container.decode(Double.self)
        }
    }
}

/// How many observations lie between two bounds.
struct NativeBucket: CustomStringConvertible {
    let left: Double
    let right: Double
    let count: Double

    /// True where bounds that were computed in two ways mean the same.
    func isSame(as other: NativeBucket) -> Bool {
        func isNear(_ one: Double, _ two: Double) -> Bool { abs(one - two) <= 1e-12 * max(abs(one), abs(two)) }
        return isNear(self.left, other.left) && isNear(self.right, other.right) && self.count == other.count
    }

    var description: String { "(\(self.left), \(self.right)]: \(self.count)" }
}

/// The exemplars of one series.
struct StoredExemplars: Decodable {
    let seriesLabels: [String: String]
    let exemplars: [Exemplar]

    struct Exemplar: Decodable {
        let labels: [String: String]
        let value: String
        let timestamp: Double
    }

    struct Answer: Decodable { let data: [StoredExemplars] }

    var series: SeriesKey {
        let own = self.seriesLabels.filter { !["__name__", "job", "instance"].contains($0.key) }
        return SeriesKey(name: self.seriesLabels["__name__"] ?? "", labels: own)
    }
}

/// What Prometheus remembers of a family besides its samples.
struct StoredMetadata: Decodable {
    let metric: String
    let type: String
    let help: String
    let unit: String

    struct Answer: Decodable { let data: [StoredMetadata] }
}

extension Prometheus {
    /// The newest sample of every series of the endpoint.
    func everything() async throws -> [PrometheusParse.Entry] {
        let selector = "{job=\"tidegate\",__name__=~\"tidegate_.+|process_.+\"}"
        // A scrape that a busy machine misses makes every series stale until the next one.
        return try await eventualValue {
            let text = try await self.get("query", ["query=\(selector)"])
            let found = try JSONDecoder().decode(PrometheusParse.self, from: Data(text.utf8)).data.result
            return found.isEmpty ? nil : found
        } ?? []
    }

    /// Every exemplar of the endpoint, whenever it was.
    func exemplars() async throws -> [StoredExemplars] {
        let text = try await self.get("query_exemplars", ["query={job=\"tidegate\"}", "start=1", "end=4000000000"])
        return try JSONDecoder().decode(StoredExemplars.Answer.self, from: Data(text.utf8)).data
    }

    /// What is remembered of the endpoint's families.
    func metadata() async throws -> [StoredMetadata] {
        let text = try await self.get("targets/metadata", ["match_target={job=\"tidegate\"}"])
        return try JSONDecoder().decode(StoredMetadata.Answer.self, from: Data(text.utf8)).data
    }
}
