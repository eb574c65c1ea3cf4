@testable import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// The page of a host with many targets, probes and tasks, some of them failing.
enum PageCrowd {
    /// A page with 40 targets, 30 probes and 25 tasks in one of the situations; every tenth of each fails.
    static func view(of state: PageState, span: TimelineSVG.Span = .hour) -> PageView {
        let view = state.view(for: nil, span: span)
        var configuration = view.configuration
        for (target, name) in zip(self.targets, self.names("service", 40)) { configuration.targetNames[target] = name }
        var record = view.record
        for (number, target) in self.targets.enumerated() {
            let latency: Duration? = self.fails(number) ? nil : .microseconds(43 * (number + 1))
            _ = record.add(.init(time: PageState.ago(number), latency: latency), of: target)
        }
        for (number, name) in self.names("feed", 25).enumerated() {
            let outcome: TaskOutcome = self.fails(number) ? .failure : .success
            let text = outcome == .failure ? "198.51.100.7:8443: the server answered 503" : "2.0 KiB in 0.43 ms"
            let entry = TaskResults.Entry(
                outcome, of: self.id(number), at: PageState.ago(60 + number), text: text,
                party: outcome == .failure ? .theirs : nil)
            record.add(entry, of: name, isNamed: true)
        }
        var crowd = PageView(
            status: self.status(view.status), diagnosis: view.diagnosis, tasks: TaskSample(self.tasks), record: record,
            nextRuns: view.nextRuns, choice: view.choice, now: view.now, configuration: configuration)
        crowd.scheduledProbes = self.probes
        return crowd
    }

    /// The same on an endpoint.
    static func fixture(of state: PageState) -> Fixture {
        let view = self.view(of: state)
        var fixture = Fixture()
        fixture.configuration.targetNames = view.configuration.targetNames
        fixture.view.change { known in
            (known.status, known.diagnosis, known.tasks) = (view.status, view.diagnosis, self.tasks)
            known.scheduledProbes = view.scheduledProbes
        }
        return fixture
    }

    static func fails(_ number: Int) -> Bool { number % 10 == 9 }

    private static func names(_ noun: String, _ count: Int) -> [String] {
        (0..<count).map { "\(noun)-\(String($0 + 100).dropFirst())" }
    }

    private static func id(_ number: Int) -> TaskID {
        TaskID("019a0000-0000-7000-8000-\(200_000_000_000 + number)") ?? TaskInfo.example().id
    }

    static let targets: [Target] = (0..<40).compactMap { number in
        try? Target(
            number % 3 == 0 ? "[2001:db8:1111:2222:3333:4444:5555:\(6000 + number)]:8443" : "198.51.100.\(number):8443")
    }

    private static func status(_ status: ReachabilityStatus) -> ReachabilityStatus {
        var status = status
        status.targets = []
        status.checks = [:]
        for (number, target) in self.targets.enumerated() {
            var report = TargetCheckReport(.standard(for: target))
            report.isReached = !self.fails(number)
            if self.fails(number) {
                report.lastFailure = .init(
                    time: PageState.ago(9), reason: .refused, party: .theirs, text: "the connection was refused")
            }
            let level: ReachabilityLevel = self.fails(number) ? .limited : .online
            status.targets.append(TargetVerdict(target: target, verdict: Verdict(level: level, path: PageState.path)))
            status.checks[target] = report
        }
        return status
    }

    private static var tasks: [TaskInfo] {
        self.names("feed", 25).enumerated().map { number, name in
            var task = TaskInfo.example(name: name, url: "https://198.51.100.7:8443/feeds/\(name).json")
            task.id = self.id(number)
            task.state = .completed(self.fails(number) ? .failure : .success)
            task.progress = TransferProgress(receivedWire: 2000, expected: 2000, attempt: 1)
            return task
        }
    }

    private static var probes: [ScheduledProbeReport] {
        self.names("probe", 30).enumerated().map { number, name in
            let target = "https://198.51.100.\(number):8443/health"
            var report = ScheduledProbeReport(
                ScheduledProbe(name: name, module: "http_2xx", target: target, every: .seconds(15)))
            let failure =
                self.fails(number) ? ProbeFailure(reason: "status", party: .theirs, text: "503, expected 2xx") : nil
            let found = ProbeReport(
                module: "http_2xx", target: target, start: PageState.ago(70), duration: .microseconds(430),
                failure: failure, isGated: false, families: [], log: ProbeLog(module: "http_2xx", target: ""),
                configuration: "")
            _ = report.record(found, as: failure == nil ? .success : .failure, at: PageState.ago(60))
            return report
        }
    }
}
