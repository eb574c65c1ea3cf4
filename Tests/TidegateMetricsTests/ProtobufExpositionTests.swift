import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// The protobuf format has the samples of the text, and native buckets.
@Suite struct ProtobufExpositionTests {
    private let fixture = Fixture.eventful()

    private func families() throws -> [String: ProtobufMessage] {
        let bytes = self.fixture.recorder.exposition(of: self.fixture.inputs, in: .protobuf)
        var families: [String: ProtobufMessage] = [:]
        for message in try ProtobufMessage.stream(bytes) {
            let name = try #require(message.strings(1).first)
            #expect(families.updateValue(message, forKey: name) == nil, "\(name) is there twice")
        }
        return families
    }

    @Test("Every sample of the text is in the messages with the same value, and no other")
    func sameSamples() throws {
        let text = self.fixture.series()
        var samples: [String: Double] = [:]
        for (name, family) in try self.families() {
            for metric in family.messages(4) {
                for (series, value) in metric.samples(of: name) { samples[series] = value }
            }
        }
        #expect(Set(samples.keys) == Set(text.keys))
        for (series, value) in text { #expect(samples[series] == value, "\(series)") }
    }

    @Test("Names, types, units and help texts are those of the catalogue")
    func metadata() throws {
        let families = try self.families()
        for definition in self.fixture.recorder.definitions {
            guard let family = families[definition.name] else { continue }
            #expect(family.strings(2) == [definition.help])
            #expect(family.strings(5) == (definition.unit == .none ? [] : [definition.unit.rawValue]))
            let type: UInt64 = definition.kind == .counter ? 0 : definition.kind == .gauge ? 1 : 4
            #expect(family.numbers(3) == [type], "\(definition.name)")
        }
    }

    @Test("Counters and histograms have start timestamps")
    func startTimes() throws {
        let families = try self.families()
        let counter = try #require(families["tidegate_task_resumes_total"]?.messages(4).first?.messages(3).first)
        let histogram = try #require(
            families["tidegate_task_retry_backoff_seconds"]?.messages(4).first?.messages(7).first)
        let start = Fixture().time.wall()
        #expect(counter.messages(3).first?.numbers(1) == [UInt64(start.microseconds / 1_000_000)])
        #expect(histogram.messages(15).first?.numbers(1) == [UInt64(start.microseconds / 1_000_000)])
    }

    @Test("A family without series is left out, and one is found by its name with and without its ending")
    func choice() throws {
        let empty = Fixture()
        let all = try ProtobufMessage.stream(empty.recorder.exposition(of: empty.inputs, in: .protobuf))
        #expect(!all.contains { $0.strings(1) == ["tidegate_request_attempts_total"] })
        #expect(all.allSatisfy { !$0.messages(4).isEmpty })
        for name in ["tidegate_task_resumes", "tidegate_task_resumes_total"] {
            let chosen = empty.recorder.exposition(
                of: empty.inputs, in: .text, choice: FamilyChoice(names: [name, "nothing"]))
            #expect(String(decoding: chosen, as: UTF8.self).hasSuffix("\ntidegate_task_resumes_total 0\n"))
            #expect(chosen.count { $0 == UInt8(ascii: "\n") } == 3)
        }
        #expect(empty.recorder.exposition(of: empty.inputs, in: .text, choice: FamilyChoice(names: ["x"])).isEmpty)
    }

    @Test("Exemplars lead from the bucket to the task, in messages and in OpenMetrics")
    func exemplars() throws {
        let metric = try #require(try self.families()["tidegate_request_duration_seconds"]?.messages(4).first)
        let buckets = try #require(metric.messages(7).first?.messages(3))
        let exemplars = buckets.flatMap { $0.messages(3) }
        let labels = try #require(exemplars.first?.messages(1)).map { $0.strings(1) + $0.strings(2) }
        #expect(labels.map(\.first) == ["task_id", "attempt"])
        let text = self.fixture.text(.openMetrics)
        #expect(text.contains("# {task_id=\"\(labels[0][1])\",attempt=\"\(labels[1][1])\"} "))
        #expect(!self.fixture.text(.text).contains(" # {"))
    }
}

extension ProtobufMessage {
    /// The samples of a `Metric`, as the text format writes their series.
    fileprivate func samples(of name: String) -> [(series: String, value: Double)] {
        let labels = self.messages(1).map { ($0.strings(1)[0], $0.strings(2)[0]) }
        func series(_ suffix: String, _ more: [(String, String)] = []) -> String {
            String(
                decoding: Escaping.samplePrefix(name + suffix, (labels + more).map(\.0), (labels + more).map(\.1))
                    .dropLast(), as: UTF8.self)
        }
        if let gauge = self.messages(2).first { return [(series(""), gauge.doubles(1)[0])] }
        if let counter = self.messages(3).first { return [(series(""), counter.doubles(1)[0])] }
        guard let histogram = self.messages(7).first else { return [] }
        let buckets = histogram.messages(3).map {
            (series("_bucket", [("le", NumberText.float($0.doubles(2)[0]))]), Double($0.numbers(1)[0]))
        }
        return buckets + [
            (series("_sum"), histogram.doubles(2)[0]), (series("_count"), Double(histogram.numbers(1)[0])),
        ]
    }
}
