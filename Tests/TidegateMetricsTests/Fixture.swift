internal import Foundation
internal import Synchronization
@testable internal import TidegateCore
internal import TidegateTestKit

@testable import TidegateMetrics

/// A recorder with manual clocks, and its exposition as a table.
struct Fixture {
    let time = ManualTime()
    let recorder: MetricsRecorder
    let bus: EventBus

    init(hostLabel: HostLabel = .off) {
        let build = BuildInfo(version: "1.2.3", revision: "abcdef", swiftVersion: "6.3", architecture: "x86_64")
        self.recorder = MetricsRecorder(
            build: build, start: self.time.monotonic(), wall: self.time.wall(), hostLabel: hostLabel,
            targetNames: Fixture.targetNames)
        self.bus = EventBus(time: self.time)
        self.bus.attach(Passing(recorder: self.recorder))
    }

    /// A fixture after every event.
    static func eventful(hostLabel: HostLabel = .off) -> Fixture {
        let fixture = Fixture(hostLabel: hostLabel)
        for payload in EveryEvent.payloads {
            fixture.time.advance(by: .milliseconds(10))
            fixture.bus.publish(payload)
        }
        fixture.recordRoundTrips()
        return fixture
    }

    /// Records the echoes of `EveryEvent`'s way out, which are no events.
    func recordRoundTrips() {
        for host in EveryEvent.qualityStatus.hosts {
            for trip in host.echoes.compactMap(\.roundTrip) { self.recorder.record(roundTrip: trip, to: host.segment) }
        }
    }

    func publish(_ event: TaskEvent.Kind, kind: TaskKind = .data, trace: TraceID? = nil) {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: self.time.wall(), using: &generator)
        self.bus.publish(.task(TaskEvent(id: id, taskKind: kind, trace: trace, kind: event)))
    }

    private static var targetNames: [Target: String] { EveryEvent.target.map { [$0: "api"] } ?? [:] }

    var inputs: ScrapeInputs {
        var inputs = ScrapeInputs(now: self.time.monotonic(), status: EveryEvent.status)
        inputs.targetNames = Fixture.targetNames
        inputs.status.quality = EveryEvent.qualityStatus
        inputs.status.uplinks = [EveryEvent.uplink(.used, .works), EveryEvent.uplink(.standby, .silent)]
        inputs.session = EveryEvent.statistics
        inputs.subscribers = Dictionary(
            uniqueKeysWithValues: SubscriberKind.allCases.map {
                ($0, SubscriberStatistics(queued: 1, capacity: 256, dropped: 2))
            })
        inputs.process = ProcessSample(
            cpuSeconds: 1.25, openDescriptors: 12, maxDescriptors: 1024, virtualBytes: 1 << 30,
            maxVirtualBytes: 18_446_744_073_709_551_616, residentBytes: 20_971_520, startSeconds: 1_790_000_000.25,
            threads: 5)
        inputs.requestsInFlight = 1
        inputs.incidents = EveryEvent.incidentTotals
        (inputs.deployment.site, inputs.deployment.provider) = ("berlin", "example-isp")
        inputs.deployment.objectives = ["api": 0.999]
        var load = ThreadLoad()
        (load.isStalled, load.waiting) = (true, 1)
        (load.busy, load.longest) = (.milliseconds(30), .milliseconds(20))
        inputs.threads = [.check: load]
        inputs.connections = ConnectionSamples.statistics
        let ladder = Explanation.Ladder(
            family: .ipv4, rungs: [RungReport(rung: .route, status: .ok), RungReport(rung: .gateway, status: .bad)])
        inputs.diagnosis = HostDiagnosis(
            explanation: Explanation(
                target: "the internet", addresses: [], ladders: [ladder], conclusion: .broken, party: .gateway),
            time: WallTime(microseconds: 1_790_000_003_000_000), since: WallTime(microseconds: 1_790_000_000_000_000))
        return inputs
    }

    func text(_ format: ExpositionFormat = .openMetrics, of inputs: ScrapeInputs? = nil) -> String {
        String(decoding: self.recorder.exposition(of: inputs ?? self.inputs, in: format), as: UTF8.self)
    }

    /// The samples by series, as they stand in the exposition.
    func series(of inputs: ScrapeInputs? = nil) -> [String: Double] {
        var series: [String: Double] = [:]
        for whole in self.text(of: inputs).split(separator: "\n") where !whole.hasPrefix("#") {
            // An exemplar is no part of the sample.
            let line = whole.range(of: " # {").map { whole[..<$0.lowerBound] } ?? whole
            guard let space = line.lastIndex(of: " ") else { continue }
            series[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        return series
    }

    private struct Passing: EventSink {
        let recorder: MetricsRecorder

        func receive(_ event: Event) { self.recorder.record(event) }
    }
}

/// Files of the source tree that tests read.
enum SourceFile {
    static let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
}
