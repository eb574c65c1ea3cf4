import Foundation
import Testing

@testable import TidegateMetrics

@Suite struct GoldenExpositionTests {
    @Test(
        "The exposition after every event is known to the byte",
        arguments: [(ExpositionFormat.openMetrics, "openmetrics.txt"), (.text, "text.txt")])
    func golden(_ format: ExpositionFormat, _ name: String) throws {
        let file = SourceFile.here.appendingPathComponent("Golden/\(name)")
        let actual = Fixture.eventful().text(format)
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_GOLDEN"] == nil else {
            try actual.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        let expected = try String(contentsOf: file, encoding: .utf8)
        let lines = (actual.split(separator: "\n"), expected.split(separator: "\n"))
        #expect(lines.0.count == lines.1.count)
        for (line, wanted) in zip(lines.0, lines.1) { #expect(line == wanted) }
        #expect(actual == expected)
    }

    @Test("Both versions of OpenMetrics have one body")
    func drafts() {
        let fixture = Fixture.eventful()
        #expect(fixture.text(.openMetrics) == fixture.text(.openMetricsDraft))
    }

    @Test("Only OpenMetrics ends with its mark")
    func endings() {
        let fixture = Fixture()
        #expect(fixture.text(.openMetrics).hasSuffix("\n# EOF\n"))
        #expect(!fixture.text(.text).contains("# EOF"))
        #expect(!fixture.text(.text).contains("# UNIT"))
    }

    @Test("Counters' families lose their ending in OpenMetrics only")
    func counterFamilies() {
        let fixture = Fixture()
        let name = "tidegate_task_resumes"
        #expect(fixture.text(.openMetrics).contains("# TYPE \(name) counter\n# HELP \(name) "))
        #expect(fixture.text(.text).contains("# TYPE \(name)_total counter\n\(name)_total 0\n"))
    }

    @Test("The exposition after every event stays within its budget")
    func budget() {
        let fixture = Fixture.eventful()
        let series = fixture.series().count
        let bytes = fixture.text().utf8.count
        #expect(series < 1125)
        #expect(bytes < 100 * 1024)
    }

    @Test("A second scrape does not depend on the first")
    func repeated() {
        let fixture = Fixture.eventful()
        let first = fixture.recorder.exposition(of: fixture.inputs, in: .text)
        let second = fixture.recorder.exposition(of: fixture.inputs, in: .openMetrics)
        #expect(fixture.recorder.exposition(of: fixture.inputs, in: .text) == first)
        #expect(second.suffix(6) == Array("# EOF\n".utf8)[...])
    }
}
