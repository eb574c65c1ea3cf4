import Synchronization
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

/// The metrics of a recorder that has received every kind of event, at one moment.
final class RecordedMetrics: Sendable {
    private let recorder: MetricsRecorder
    private let inputs: ScrapeInputs

    init() {
        let time = ManualTime()
        let build = BuildInfo(version: "1.2.3", revision: "abcdef", swiftVersion: "6.3", architecture: "x86_64")
        let recorder = MetricsRecorder(build: build, start: time.monotonic(), wall: time.wall())
        let bus = EventBus(time: time)
        bus.attach(RecorderSink(recorder: recorder))
        for payload in EveryEvent.payloads { bus.publish(payload) }
        self.recorder = recorder
        var inputs = ScrapeInputs(now: time.monotonic(), status: EveryEvent.status)
        inputs.targetNames = EveryEvent.target.map { [$0: "a\"b\\c\n{}=,"] } ?? [:]
        inputs.session = EveryEvent.statistics
        inputs.process = ProcessSample(
            cpuSeconds: 1.25, maxDescriptors: .infinity, maxVirtualBytes: 18_446_744_073_709_551_616,
            residentBytes: 20_971_520, startSeconds: 1_790_000_000.25)
        self.inputs = inputs
    }

    /// The samples, always of the same moment.
    var samples: [MetricSample] { self.recorder.samples(of: self.inputs) }

    /// The lines of the text exposition, by series with its labels sorted and unescaped.
    var text: [String: Double] {
        let text = String(decoding: self.recorder.exposition(of: self.inputs, in: .text), as: UTF8.self)
        var series: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            series[SeriesKey.key(ofLine: line[..<space])] = Double(line[line.index(after: space)...])
        }
        return series
    }

    private struct RecorderSink: EventSink {
        let recorder: MetricsRecorder

        func receive(_ event: Event) { self.recorder.record(event) }
    }
}

/// Series with the value 1 whose names a test can change.
final class ScriptedSamples: Sendable {
    private let names: Mutex<[String]>

    init(_ names: [String]) { self.names = Mutex(names) }

    func set(_ names: [String]) { self.names.withLock { $0 = names } }

    var samples: [MetricSample] {
        self.names.withLock { $0 }.map { MetricSample(name: $0, labels: [], value: 1) }
    }
}

/// One key for a series, from a query's result or from a line of the exposition.
enum SeriesKey {
    static func key(_ name: String, _ labels: [String: String]) -> String {
        let pairs = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return pairs.isEmpty ? name : "\(name){\(pairs.joined(separator: ";"))}"
    }

    /// Parsed by a regular expression, independent of our own parser.
    static func key(ofLine line: Substring) -> String {
        var labels: [String: String] = [:]
        for match in line.matches(of: /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/) {
            labels[String(match.1)] = self.unescaped(match.2)
        }
        return self.key(String(line.prefix { $0 != "{" }), labels)
    }

    private static func unescaped(_ text: Substring) -> String {
        var value = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                value.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                value.append(character)
            }
        }
        return value
    }
}
