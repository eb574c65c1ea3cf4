package import Foundation

/// Answers that are kept in a file, one a line: `evidence = answer`.
package enum RecordedAnswers {
    /// Where answers differ from those in `file`; with `TIDEGATE_WRITE_GOLDEN` set they are written there instead.
    package static func differences(
        _ answers: [(evidence: String, answer: String)], from file: URL
    ) throws -> [String] {
        let actual = answers.map { "\($0.evidence) = \($0.answer)" }
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_GOLDEN"] == nil else {
            try (actual.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
            return []
        }
        let expected = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
        let changed = zip(actual, expected).filter { $0.0 != $0.1 }.map { "\($0.0), which was \($0.1)" }
        return actual.count == expected.count ? changed : changed + ["\(actual.count) answers, not \(expected.count)"]
    }
}
