import Foundation
import Testing
import TidegateTestKit

extension Dashboard {
    /// Expects data for every query of every panel from a span of time, and the labels that name its lines.
    ///
    /// `empty` are the titles of panels that have nothing to show.
    func expectData(from prometheus: Prometheus, in span: (Double, Double), except empty: Set<String> = []) async throws
    {
        #expect(!self.charts.isEmpty)
        for panel in self.charts where !empty.contains(panel.title) {
            for query in try #require(panel.targets) {
                let series = try await query.history(prometheus, span)
                #expect(!series.isEmpty, "\(self.uid), \(panel.title): \(query.filled)")
                for label in query.legendLabels {
                    #expect(series.contains { $0.labels[label] != nil }, "\(panel.title): no \(label)")
                }
            }
        }
    }

    /// What a query of a panel shows in a span of time.
    func history(
        of title: String, query: Int = 0, _ prometheus: Prometheus, _ span: (Double, Double)
    ) async throws -> [PrometheusSeries] {
        let panel = try #require(self.charts.first { $0.title == title }, "\(title)")
        return try await #require(panel.targets?.dropFirst(query).first, "\(title)").history(prometheus, span)
    }
}

extension Dashboard.Query {
    /// The series that have a number at some time.
    fileprivate func history(_ prometheus: Prometheus, _ span: (Double, Double)) async throws -> [PrometheusSeries] {
        // One job: the same numbers may arrive twice, scraped and by remote write.
        let expression = self.filled.replacingOccurrences(of: "job=~\".+\"", with: "job=\"tidegate\"")
        return try await prometheus.query(expression, from: span.0, to: span.1)
            .filter { $0.points.contains { $0.value.isFinite } }
    }
}
