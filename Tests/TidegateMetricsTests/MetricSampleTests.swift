import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// Samples as values are those of the text, bit for bit.
@Suite struct MetricSampleTests {
    @Test("Every sample of the text is there with the same value and labels, in its order, and no other")
    func sameAsText() {
        let fixture = Fixture.eventful()
        var inputs = fixture.inputs
        inputs.status.links.append(Oracle.awkwardLink)
        let samples = fixture.recorder.samples(of: inputs)
        let lines = fixture.text(.text, of: inputs).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(samples.count == lines.count)
        for (sample, line) in zip(samples, lines) {
            let space = line.lastIndex(of: " ") ?? line.endIndex
            let value = Double(line[line.index(after: space)...])
            #expect(sample.value == value || sample.value.isNaN && value?.isNaN == true, "\(line)")
            #expect(Set(sample.labels) == Set(MetricSampleTests.labels(of: line[..<space])), "\(line)")
            #expect(sample.name == line.prefix { $0 != "{" && $0 != " " })
            #expect(sample.labels.map(\.name) == sample.labels.map(\.name).sorted())
        }
    }

    @Test("Every label value is read back unchanged")
    func awkward() {
        let values = ["", "\"", "\\", "\n", "a=\"b\",c={d} e", "\\n", "Ünï©ode 🛰", "}"]
        let labels = values.indices.map { "l\($0)" }
        let sample = MetricSample(line: Escaping.samplePrefix("name", labels, values), value: 1)
        #expect(sample.name == "name")
        #expect(sample.labels == zip(labels, values).map { MetricSample.Label($0, $1) })
        #expect(MetricSample(line: Escaping.samplePrefix("bare", [], []), value: 1).labels.isEmpty)
    }

    @Test("Taking samples leaves exemplars to the next scrape")
    func exemplars() {
        let (one, other) = (Fixture.eventful(), Fixture.eventful())
        _ = one.recorder.samples(of: one.inputs)
        let count = { (text: String) in text.split(separator: "\n").count { $0.contains(" # {") } }
        #expect(count(one.text()) == count(other.text()))
        #expect(count(one.text()) > 0)
    }

    // The labels of a line, by a regular expression and not by our reader.
    private static func labels(of series: Substring) -> [MetricSample.Label] {
        series.matches(of: /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/).map { match in
            var value = ""
            var isEscaped = false
            for character in match.2 {
                if isEscaped {
                    value.append(character == "n" ? "\n" : character)
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else {
                    value.append(character)
                }
            }
            return MetricSample.Label(String(match.1), value)
        }
    }
}
