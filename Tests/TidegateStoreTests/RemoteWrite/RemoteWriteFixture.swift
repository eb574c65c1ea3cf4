import Foundation
import Synchronization
import TidegateLoop
import TidegateMetrics
import TidegateCore
import TidegateTestKit

@testable import TidegateStore

/// A writer whose collections are numbered: the only series, `turn`, has the values 1, 2, 3, ….
final class RemoteWriteFixture: Sendable {
    let directory: TestDirectory
    let paths = ScriptedPathSource()
    let writer: RemoteWriter
    let turns: Turns

    /// Numbers collections, also across several writers.
    final class Turns: Sendable {
        private let count = Atomic<Int>(0)

        var next: Double { Double(self.count.add(1, ordering: .relaxed).newValue) }
        var collected: Int { self.count.load(ordering: .relaxed) }
    }

    init(
        _ url: String, directory: TestDirectory? = nil, turns: Turns = Turns(), paths start: Verdict? = nil,
        clock: any TimeSource = SystemClock(), _ change: (inout RemoteWriteConfiguration) throws -> Void = { _ in },
        collect: (@Sendable () -> [MetricSample])? = nil
    ) throws {
        let directory = try directory ?? TestDirectory()
        self.directory = directory
        self.turns = turns
        if let start { self.paths.say(start) }
        var configuration = RemoteWriteConfiguration(url: url, directory: directory.queue)
        configuration.interval = .milliseconds(50)
        configuration.pause = .milliseconds(100)
        configuration.retry = RemoteWriteConfiguration.retry(base: .milliseconds(20), cap: .milliseconds(80))
        configuration.labels = [.init("job", "test")]
        try change(&configuration)
        let recorder = Recorder()
        self.writer = try RemoteWriter(
            configuration, paths: self.paths, resolver: ScriptedResolver(), time: clock,
            collect: collect ?? { [MetricSample(name: "turn", labels: [], value: turns.next)] },
            onEvent: { recorder.record($0) })
        self.recorder = recorder
    }

    private let recorder: Recorder

    private final class Recorder: Sendable {
        let events = Mutex<[RemoteWriteEvent]>([])
        func record(_ event: RemoteWriteEvent) { self.events.withLock { $0.append(event) } }
    }

    var events: [RemoteWriteEvent] { self.recorder.events.withLock { $0 } }

    /// The batches in the queue's file.
    func stored() throws -> [SampleBatch] { try SampleQueueFile(directory: self.directory.queue).open().batches }

    /// The samples lost for a reason.
    func lost(_ loss: RemoteWriteLoss) -> Int {
        self.events.reduce(0) { sum, event in
            if case .dropped(loss, let samples, detail: _, pending: _, isNews: _) = event { sum + samples } else { sum }
        }
    }

    var delivered: Int {
        self.events.reduce(0) { sum, event in
            if case .delivered(let samples, pending: _, isNews: _) = event { sum + samples } else { sum }
        }
    }

    func hasFailed(_ reason: TaskFailure, status: Int? = nil) -> Bool {
        self.events.contains { event in
            if case .failed(let failure, isNews: _) = event {
                failure.reason == reason && failure.status == status
            } else {
                false
            }
        }
    }
}

extension LiveServer {
    /// The numbers of the collections in the requests for which `isTaken` is true, in the order of the requests.
    func turns(where isTaken: (LiveServerRequest) -> Bool = { _ in true }) throws -> [Int] {
        try self.requests.filter(isTaken).flatMap { try ReceivedSeries.all(inBody: $0.body) }.map { Int($0.value) }
    }
}
