internal import Foundation
internal import Synchronization
internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateTestKit

@testable internal import TidegateReachability

/// A resolver that knows how long its answers are valid.
private final class TimedResolver: NameResolver {
    private struct State {
        var address = IPAddress(ipv4: 0x0A00_0007)
        var questions = 0
        var invalidations = 0
    }

    private let state = Mutex(State())

    func resolve(_ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void) {
        let address = self.state.withLock { state in
            state.questions += 1
            return state.address
        }
        completion(.success([address]))
    }

    func cached(_ name: String) -> [IPAddress]? { nil }

    func invalidate() { self.state.withLock { $0.invalidations += 1 } }

    func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) { completion(.seconds(1)) }

    func say(_ address: IPAddress) { self.state.withLock { $0.address = address } }

    var questions: Int { self.state.withLock { $0.questions } }
    var invalidations: Int { self.state.withLock { $0.invalidations } }
}

/// A monitor of a target by name, whose resolv.conf a test writes.
private final class NamedTarget: Sendable {
    let monitor: ReachabilityMonitor
    let resolver = TimedResolver()
    let target: Target
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")

    init(in hosts: VethPairFixture, servers: String) throws {
        try Data(servers.utf8).write(to: self.file, options: .atomic)
        self.target = try Target("api.test:443")
        let namespace = hosts.here
        var files = ResolverFiles()
        (files.configuration, files.upstreams) = (self.file.path, "/nonexistent/resolv.conf")
        let monitor = ReachabilityMonitor(
            ReachabilityConfiguration(targets: [self.target]), bus: EventBus(time: TestTime()), time: TestTime())
        self.monitor = monitor.running(
            NetlinkThread(
                monitor, resolver: self.resolver, kernel: NetlinkOptions(onThreadStart: { namespace.enter() }),
                resolverFiles: files))
    }

    deinit {
        self.monitor.stop()
        try? FileManager.default.removeItem(at: self.file)
    }

    func write(_ servers: String) throws { try Data(servers.utf8).write(to: self.file, options: .atomic) }

    var addresses: [String] {
        self.monitor.current(self.target).addresses.map(\.address.description)
    }
}

/// What happens to names when their servers or their time to live change.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need)) struct ResolverScenarioTests {
    @Test("Another resolv.conf makes every name be resolved again at once")
    func changed() async throws {
        let ladder = try NamedTarget(in: VethPairFixture(), servers: "nameserver 10.0.0.1\n")
        _ = await ladder.monitor.firstStatus(within: .seconds(60))
        #expect(await eventually { ladder.addresses == ["10.0.0.7"] })
        let (questions, invalidations) = (ladder.resolver.questions, ladder.resolver.invalidations)
        ladder.resolver.say(IPAddress(ipv4: 0x0A00_0009))
        try ladder.write("nameserver 10.0.0.2\n")
        #expect(await eventually { ladder.addresses == ["10.0.0.9"] })
        #expect(ladder.resolver.questions > questions && ladder.resolver.invalidations > invalidations)
    }

    @Test("A name is resolved again when its time to live is over, though not before five seconds")
    func timeToLive() async throws {
        let ladder = try NamedTarget(in: VethPairFixture(), servers: "nameserver 10.0.0.1\n")
        _ = await ladder.monitor.firstStatus(within: .seconds(60))
        #expect(await eventually { ladder.addresses == ["10.0.0.7"] })
        let start = ContinuousClock.now
        ladder.resolver.say(IPAddress(ipv4: 0x0A00_0009))
        #expect(await eventually { ladder.addresses == ["10.0.0.9"] })
        #expect(ContinuousClock.now - start > .seconds(3))
    }
}
