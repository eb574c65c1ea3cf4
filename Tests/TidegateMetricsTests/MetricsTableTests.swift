import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct MetricsTableTests {
    private static let file = Dashboard.folder.appendingPathComponent("METRICS.md")

    @Test("The table of all metrics is up to date")
    func written() throws {
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_METRICS"] == nil else {
            return try MetricsTable.text.write(to: Self.file, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(written == MetricsTable.text, "write it again: \(MetricsTable.command)")
    }

    @Test("The README leads to the table")
    func linked() throws {
        let readme = Dashboard.folder.deletingLastPathComponent().appendingPathComponent("README.md")
        #expect(try String(contentsOf: readme, encoding: .utf8).contains("(dashboards/METRICS.md)"))
    }
}
