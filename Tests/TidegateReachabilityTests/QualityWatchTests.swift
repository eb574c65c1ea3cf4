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
        let watch = QualityWatch(ladder.diagnostics, record: { _, _ in }, keep: { _ in })
        let run = Task { await watch.run() }
        defer { run.cancel() }
        #expect(await eventually { ladder.fixture.monitor.status.quality?.hosts.isEmpty == false })
        let before = try Self.echoes(at: hosts.there)
        func publish(_ remote: String) throws {
            let end = TestTime().monotonic()
            ladder.fixture.monitor.recorder.record(
                .success(
                    .init(
                        from: source, to: try address(remote), isEncrypted: false, connect: .milliseconds(1031),
                        start: end - .seconds(2), end: end)))
        }
        // Without a measurement there are at most nine echoes a minute.
        func measures(within limit: Duration) async throws -> Bool {
            try await eventually(within: limit) { try Self.echoes(at: hosts.there) - before > 12 }
        }
        try publish("198.51.100.2")
        #expect(try await !measures(within: .seconds(10)))
        try publish("198.51.100.3")
        #expect(try await measures(within: .seconds(60)))
    }

    /// How many echo requests the host has received.
    private static func echoes(at host: NetworkNamespace) throws -> Int {
        let (_, text) = NamespaceCommand.run(host.inside(["nstat", "-asz", "IcmpInEchos"]))
        return try #require(text.split(separator: " ").compactMap { Int($0) }.first, "\(text)")
    }
}
