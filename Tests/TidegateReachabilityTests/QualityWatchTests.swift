internal import Foundation
internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// What makes the watch of slowness send packets, on a real link.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct QualityWatchTests {
    @Test("Requests to two remotes that lost their first packet make it measure")
    func lateConnects() async throws {
        let hosts = try VethPairFixture()
        let target = try Target("198.51.100.2:80")
        let ladder = LadderFixture(hosts, targets: [target: TargetCheck(.tcp, interval: .seconds(3600))])
        let status = await ladder.fixture.status { $0.global.level >= .routed && !$0.targets.isEmpty }
        let source = try #require(status.global.path?.source)
        let watch = QualityWatch(HostDiagnostics(ladder.diagnostics), record: { _, _ in }, keep: { _ in })
        let run = Task { await watch.run() }
        defer { run.cancel() }
        #expect(await eventually { ladder.fixture.monitor.status.quality?.hosts.isEmpty == false })
        let before = Self.echoes(at: hosts.there)
        var generator = SystemRandomNumberGenerator()
        for remote in ["198.51.100.2", "198.51.100.3"] {
            let summary = AttemptSummary(
                number: 1, method: "GET", duration: .seconds(1), phases: PhaseDurations(connect: .milliseconds(1031)),
                remote: try address(remote), local: source)
            let id = TaskID(at: TestTime().wall(), using: &generator)
            ladder.fixture.monitor.bus.publish(
                .task(TaskEvent(id: id, taskKind: .data, kind: .attemptSucceeded(summary))))
        }
        // Without a measurement there is an echo each ten seconds.
        #expect(await eventually(within: .seconds(60)) { Self.echoes(at: hosts.there) - before > 30 })
    }

    /// How many echo requests the host has received.
    private static func echoes(at host: NetworkNamespace) -> Int {
        let (_, text) = NamespaceCommand.run(host.inside(["nstat", "-asz", "IcmpInEchos"]))
        return text.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }
}
