import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct MetricsTableTests {
    @Test("The table of all metrics is up to date")
    func written() throws {
        let file = Dashboard.folder.deletingLastPathComponent().appendingPathComponent("docs/metrics.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(page.range(of: MetricsTable.start)?.upperBound)
        let end = try #require(page.range(of: MetricsTable.end, range: start..<page.endIndex)?.lowerBound)
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_METRICS"] == nil else {
            return try page.replacingCharacters(in: start..<end, with: MetricsTable.text)
                .write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(page[start..<end] == MetricsTable.text, "write it again: \(MetricsTable.command)")
    }
}
