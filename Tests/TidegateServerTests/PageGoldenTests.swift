import Foundation
import Testing
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// The whole page at a few moments: a change of its markup is a change of `Golden`.
@Suite struct PageGoldenTests {
    enum Moment: String, CaseIterable {
        case sound, outage, checking, busy, starting, crowd
    }

    @Test("The markup of the page is known to the byte", arguments: Moment.allCases)
    func golden(_ moment: Moment) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Golden/\(moment.rawValue).html")
        // The style sheet and the script are in page.html as they are.
        let actual = moment.view.html.replacing(/<(style|script)>(?s:.*?)<\/(style|script)>/, with: "")
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_GOLDEN"] == nil else {
            try actual.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        let expected = try String(contentsOf: file, encoding: .utf8)
        let tags = (actual.split(separator: "<"), expected.split(separator: "<"))
        for (tag, wanted) in zip(tags.0, tags.1) { try #require(tag == wanted) }
        #expect(actual == expected)
    }
}

extension PageGoldenTests.Moment {
    private static let now = PageState.now
    private static let evil = "<b>\"a\" & 'b'</b>"

    var view: PageView {
        switch self {
        case .sound:
            var view = Self.view(PageState.healthy)
            view.scheduledProbes = [Self.scheduled([.success, .success], name: "www", expiry: 90)]
            view.connections = ConnectionsReport(mode: .counters, reason: "lists are refused")
            view.probes = []
            return view
        case .outage:
            var status = PageState.deadProvider.status
            status.global.notes = [.tunnel]
            status.families[0].verdict.notes = [.tunnel, .partial]
            status.health = .init(isConsistent: false)
            status.links[2].name = Self.evil
            var view = Self.view(PageState.deadProvider, status: status, record: Self.eventful)
            view.scheduledProbes = Self.scheduledProbes
            view.probes = Self.probes
            view.connections = Self.connections
            return view
        case .checking: return Self.view(PageState.pulledCable, status: Self.checkedStatus, party: .mine)
        case .busy: return Self.view(PageState.manyTasks, tasks: Self.tasks)
        case .starting:
            return PageView(
                status: .unavailable(mode: .event), diagnosis: nil, tasks: TaskSample([]),
                record: HistoryRecord(from: Self.now), nextRuns: [:], choice: PageChoice(party: .path), now: Self.now,
                configuration: EndpointConfiguration())
        case .crowd: return PageCrowd.view(of: .deadTarget, span: .week)
        }
    }

    private static func view(
        _ state: PageState, status: ReachabilityStatus? = nil, record: HistoryRecord? = nil,
        tasks: [TaskInfo]? = nil, party: FaultParty? = nil
    ) -> PageView {
        let view = state.view
        let numbered = (tasks ?? state.tasks).enumerated().map { number, task in
            var task = task
            task.id = TaskID("019a0000-0000-7000-8000-\(100_000_000_000 + number)") ?? task.id
            return task
        }
        let later = state == .manyTasks ? ["later": Self.now + .seconds(86_500)] : [:]
        return PageView(
            status: status ?? view.status, diagnosis: view.diagnosis, tasks: TaskSample(numbered),
            record: record ?? view.record, nextRuns: view.nextRuns.merging(later) { $1 },
            choice: PageChoice(party: party), now: Self.now, configuration: view.configuration)
    }

    // MARK: Parts

    /// A target whose check runs, one that was never checked, and certificates that end.
    private static var checkedStatus: ReachabilityStatus {
        var status = PageState.pulledCable.status
        for target in status.targets.map(\.target) {
            status.checks[target]?.isReached = true
            status.checks[target]?.certificateExpiry = PageState.ago(60)
            status.checks[target]?.checkingSince = target.port == 80 ? PageState.ago(5) : nil
        }
        let extra = (try? Target("never.example.org:443")).map { TargetVerdict(target: $0, verdict: .unknown) }
        status.targets += extra.map { [$0] } ?? []
        return status
    }

    /// The outage of a provider, and every event before it.
    private static var eventful: HistoryRecord {
        let time = ManualTime(wall: PageState.ago(1000))
        let bus = EventBus(time: time)
        let history = PageHistory(from: PageState.ago(1000), configuration: EndpointConfiguration())
        bus.attach(history)
        for payload in EveryEvent.payloads {
            bus.publish(payload)
            time.advance(by: .milliseconds(500))
        }
        bus.publish(.netlink(.lost(self.evil)))
        return history.snapshot()
    }

    private static var tasks: [TaskInfo] {
        let states: [TaskState] = [
            .suspended, .waiting(.path, detail: self.evil), .waiting(.backoff, detail: nil), .running(attempt: 3),
            .running(attempt: 1), .completed(.success), .completed(.failure), .completed(.cancelled),
        ]
        let named = states.enumerated().map { number, state in
            var task = TaskInfo.example(name: "task \(number) \(self.evil)")
            task.state = state
            if case .running(let attempt) = state { task.progress.attempt = attempt }
            if state.name == .completed { task.progress.attempt = 2 }
            return task
        }
        var upload = TaskInfo.example(name: nil, url: "https://u:p@example.com/<up>?key=1")
        (upload.kind, upload.progress) = (.upload, TransferProgress(sent: 512))
        var keyed = TaskInfo.example(name: nil)
        (keyed.key, keyed.progress) = ("nightly", TransferProgress())
        return PageState.manyTasks.tasks + named + [upload, keyed, keyed]
    }

    private static var connections: ConnectionsReport {
        var report = ConnectionSamples.report
        (report.mode, report.reason, report.dropped) = (.poll, self.evil, 9)
        report.remotes[1].target = self.evil
        (report.remotes[1].connecting, report.remotes[1].closing) = (2, 1)
        report.remotes[2].stalled = [.connecting: 1, .unanswered: 2]
        let counts: [(age: Int, succeeded: Int, failures: [FaultParty: Int])] = [
            (290, 0, [.mine: 1]), (20, 30, [.gateway: 1, .theirs: 9]), (0, 4, [:]),
        ]
        report.remotes[0].history = counts.map { count in
            var interval = RemoteReport.Interval(age: .seconds(count.age))
            (interval.succeeded, interval.failures) = (count.succeeded, count.failures)
            return interval
        }
        report.remotes[0].outcomes[.established] = 34
        return report
    }

    private static var probes: [ProbeReport] {
        let refused = ProbeFailure(reason: "connect_failed", party: .theirs, text: "refused \(self.evil)")
        return [(nil, false), (refused, false), (refused, true)].map { (failure: ProbeFailure?, isGated: Bool) in
            self.probe(failure, isGated: isGated)
        }
    }

    private static func probe(_ failure: ProbeFailure?, isGated: Bool, expiry: Int? = nil) -> ProbeReport {
        var end = GaugeFamily(name: "probe_ssl_earliest_cert_expiry", help: "")
        if let expiry { end.set(self.now.seconds + Double(expiry * 86_400)) }
        return ProbeReport(
            module: "http_2xx", target: "https://u:p@example.com/\(self.evil)?key=1", start: PageState.ago(70),
            duration: .milliseconds(42), failure: failure, isGated: isGated, families: expiry == nil ? [] : [end],
            log: ProbeLog(module: "http_2xx", target: ""), configuration: "")
    }

    private static var scheduledProbes: [ScheduledProbeReport] {
        [
            self.scheduled([.success, .failure, .success], name: self.evil, expiry: 6),
            self.scheduled([.success, .failure], name: "fails", expiry: -1),
            self.scheduled([.failure, .inconclusive], name: "not known"),
            self.scheduled([.success, .inconclusive, .inconclusive], name: "was known"),
            self.scheduled([], name: "new"),
        ]
    }

    private static func scheduled(
        _ results: [ProbeEvent.Result], name: String, expiry: Int? = nil
    ) -> ScheduledProbeReport {
        var report = ScheduledProbeReport(
            ScheduledProbe(
                name: name, module: "http_2xx", target: "https://u:p@example.com/x?key=1", every: .seconds(15)))
        for (number, result) in results.enumerated() {
            let party: FaultParty = result == .failure ? .theirs : .mine
            let failure = ProbeFailure(reason: "status", party: party, text: "no answer \(self.evil)")
            let found = self.probe(
                result == .success ? nil : failure, isGated: result == .inconclusive, expiry: expiry)
            _ = report.record(found, as: result, at: PageState.ago(60 - number))
        }
        return report
    }
}
