import Foundation
import Synchronization
import TidegateLoop
import TidegateMetrics
import TidegateCore
import TidegateTestKit

@testable import TidegateStore

/// A writer on scripted surroundings whose collections count: the one series `turn` has 1, 2, 3, … for its values.
final class Rig: Sendable {
    let place: Place
    let paths = ScriptedPathSource()
    let writer: RemoteWriter
    let turns: Turns

    /// Counts on across writers.
    final class Turns: Sendable {
        private let count = Atomic<Int>(0)

        var next: Double { Double(self.count.add(1, ordering: .relaxed).newValue) }
        var taken: Int { self.count.load(ordering: .relaxed) }
    }

    init(
        _ url: String, place: Place? = nil, turns: Turns = Turns(), paths start: Verdict? = nil,
        clock: any TimeSource = SystemClock(), _ change: (inout RemoteWriteConfiguration) throws -> Void = { _ in },
        collect: (@Sendable () -> [MetricSample])? = nil
    ) throws {
        let place = try place ?? Place()
        self.place = place
        self.turns = turns
        if let start { self.paths.say(start) }
        var configuration = try RemoteWriteConfiguration(url: url, directory: place.path + "/buffer")
        configuration.interval = .milliseconds(50)
        configuration.rest = .milliseconds(100)
        configuration.retry = try RemoteWriteConfiguration.retry(base: .milliseconds(20), cap: .milliseconds(80))
        configuration.labels = [.init("job", "test")]
        try change(&configuration)
        let box = Box()
        self.writer = try RemoteWriter(
            configuration,
            surroundings: .init(
                paths: self.paths, resolver: ScriptedResolver(), time: clock,
                collect: collect ?? { [MetricSample(name: "turn", labels: [], value: turns.next)] },
                onEvent: { box.hear($0) }))
        self.box = box
    }

    private let box: Box

    private final class Box: Sendable {
        let heard = Mutex<[RemoteWriteEvent]>([])
        func hear(_ event: RemoteWriteEvent) { self.heard.withLock { $0.append(event) } }
    }

    var events: [RemoteWriteEvent] { self.box.heard.withLock { $0 } }

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
    /// The turns in the requests of which `isTaken` is true, in the order in which they came.
    func turns(where isTaken: (LiveServerRequest) -> Bool = { _ in true }) throws -> [Int] {
        try self.requests.filter(isTaken).flatMap { try Received.all(inBody: $0.body) }.map { Int($0.value) }
    }
}
