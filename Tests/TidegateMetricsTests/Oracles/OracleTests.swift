import Foundation
import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// Other implementations parse the exposition.
@Suite struct OracleTests {
    private static let python = Oracle.python

    private func exposition(_ format: ExpositionFormat) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        var inputs = Fixture().inputs
        inputs.status.links.append(Oracle.awkwardLink)
        try Fixture.eventful().text(format, of: inputs).write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test(
        "The reference parser of OpenMetrics reads every sample",
        .enabled(if: OracleTests.python != nil, "python3 with prometheus_client is not installed"))
    func openMetrics() async throws {
        let python = try #require(Self.python)
        let file = try self.exposition(.openMetrics)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = SourceFile.here.appendingPathComponent("Oracles/openmetrics.py").path
        let output = try await Program.run([python, script, file.path])
        #expect(output.status == 0, "\(output.errors)")
        let text = try String(contentsOf: file, encoding: .utf8)
        let samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        #expect(Int(output.output.trimmingCharacters(in: .whitespacesAndNewlines)) == samples)
    }

    @Test(
        "promtool finds nothing to say about names and types",
        .enabled(if: Oracle.exists("promtool"), "promtool (Debian package prometheus) is not installed"))
    func promtool() async throws {
        let file = try self.exposition(.text)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try await Program.run(["sh", "-c", "promtool check metrics < \(file.path)"])
        #expect(output.status == 0, "\(output.output) \(output.errors)")
        #expect(output.errors.isEmpty && output.output.isEmpty, "\(output.output) \(output.errors)")
    }

    @Test(
        "No sample stands twice, no family is interrupted, and buckets never shrink",
        arguments: ExpositionFormat.allCases.filter { $0 != .protobuf })
    func shape(_ format: ExpositionFormat) throws {
        let file = try self.exposition(format)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(Shape.faults(in: try String(contentsOf: file, encoding: .utf8)) == [])
    }

    @Test("The shape's checker finds the faults that other oracles miss")
    func checker() {
        #expect(Shape.faults(in: "# TYPE a gauge\na 1\na 2\n") == ["a stands twice"])
        #expect(Shape.faults(in: "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\na{x=\"1\"} 2\n").count == 1)
        let shrinking = "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n"
        #expect(Shape.faults(in: shrinking) == ["a_bucket{le=\"+Inf\"} shrinks"])
    }
}

/// Where the oracles are.
enum Oracle {
    /// The Python that has the parser: Debian's own, or the first on PATH.
    static let python = ["/usr/bin/python3", "python3"].first { python in
        Oracle.succeeds([python, "-c", "import prometheus_client.openmetrics.parser"])
    }

    /// A link whose name tries to end its label.
    static let awkwardLink = Link(
        name: "e\"th\\\n{}=,", index: 9, kind: .other, isAdminUp: true, hasCarrier: true, operState: .up, reason: nil)

    static func exists(_ program: String) -> Bool { self.succeeds(["sh", "-c", "command -v \(program)"]) }

    private static func succeeds(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// Finds what parsers let pass: duplicates, interrupted families, shrinking buckets.
enum Shape {
    static func faults(in text: String) -> [String] {
        var faults: [String] = []
        var seen: Set<Substring> = []
        var families: [String] = []
        var lastBucket: (series: String, value: Double)?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") { families.append(String(line.split(separator: " ")[2])) }
            let line = line.range(of: " # {").map { line[..<$0.lowerBound] } ?? line
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { continue }
            let (key, value) = (line[..<space], Double(line[space...].dropFirst()) ?? .nan)
            if !seen.insert(key).inserted { faults.append("\(key) stands twice") }
            if !key.hasPrefix(families.last ?? "") { faults.append("\(key) interrupts \(families.last ?? "")") }
            guard let mark = key.range(of: "le=\"") else { continue }
            let series = String(key[..<mark.lowerBound])
            if let last = lastBucket, last.series == series, value < last.value { faults.append("\(key) shrinks") }
            lastBucket = (series, value)
        }
        return faults
    }
}
