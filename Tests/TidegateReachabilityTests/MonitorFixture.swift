internal import Synchronization
internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// Two namespaces joined by a veth pair: `here` with v0 (index 77) is watched, `there` with p0 is the gateway.
struct VethPairFixture {
    let here: NetworkNamespace
    let there: NetworkNamespace

    init(isConfigured: Bool = true) throws {
        self.here = try NetworkNamespace("h")
        self.there = try NetworkNamespace("p")
        // Equal indexes at both ends would make the kernel delay carrier events.
        try self.here.ip("link add v0 index 77 type veth peer name p0 netns \(self.there.name)")
        try self.there.batch(
            """
            link set p0 up
            addr add 10.0.0.1/24 dev p0
            addr add 2001:db8::1/64 dev p0 nodad
            """)
        guard isConfigured else { return }
        try self.here.batch(
            """
            link set v0 up
            addr add 10.0.0.2/24 dev v0
            addr add 2001:db8::2/64 dev v0 nodad
            route add default via 10.0.0.1
            route add default via 2001:db8::1
            """)
    }

    /// A second way out: v1 (index 78) with 10.0.1.2, p1 with 10.0.1.1.
    func addSecondLink() throws {
        try self.here.ip("link add v1 index 78 type veth peer name p1 netns \(self.there.name)")
        try self.there.batch("link set p1 up\naddr add 10.0.1.1/24 dev p1")
        try self.here.batch("link set v1 up\naddr add 10.0.1.2/24 dev v1")
        // A link that is up may not have its carrier yet.
        try self.here.waitForLinks("v1")
    }

    static let isPossible = NetworkNamespace.isAvailable
    static let need: Comment = "network namespaces need root and ip(8)"
}

/// A monitor inside a namespace, with everything that it publishes.
final class MonitorFixture: Sendable {
    let sink = RecordingSink()
    let bus: EventBus
    let monitor: ReachabilityMonitor
    let resolver: ScriptedResolver

    init(
        _ namespace: NetworkNamespace, _ configuration: ReachabilityConfiguration = .init(),
        names: [String: [IPAddress]] = [:], receiveBufferBytes: Int = 8 << 20,
        onThreadStart: @escaping @Sendable () -> Void = {},
        refusal: @escaping @Sendable (NetlinkOptions.SocketKind) -> NetlinkError? = { _ in nil },
        web: (any HTTPChecker)? = nil, targetChecker: (any TargetChecker)? = nil,
        diagnoser: (ReachabilityMonitor, ScriptedResolver) -> (any HostDiagnoser)? = { _, _ in nil },
        diagnosesHost: Bool = false, tune: (inout NetlinkOptions) -> Void = { _ in }
    ) {
        let bus = EventBus(time: TestTime())
        self.bus = bus
        bus.attach(self.sink)
        self.resolver = ScriptedResolver(names)
        var options = NetlinkOptions(
            receiveBufferBytes: receiveBufferBytes,
            onThreadStart: {
                namespace.enter()
                onThreadStart()
            }, refusal: refusal)
        tune(&options)
        let monitor = ReachabilityMonitor(configuration, bus: bus, time: TestTime())
        self.monitor = monitor.running(
            NetlinkThread(
                monitor, resolver: self.resolver, kernel: options,
                resolverAddresses: { [IPAddress(ipv4: 0x0808_0808)] }, web: web, targetChecker: targetChecker,
                diagnoser: diagnoser(monitor, self.resolver), diagnosesHost: diagnosesHost))
    }

    deinit { self.monitor.stop() }

    /// The first status.
    func first() async -> ReachabilityStatus { await self.monitor.firstStatus(within: .seconds(60)) }

    /// Waits until the status is as wanted, and its events have been published; the last one seen.
    func status(
        within limit: Duration = .seconds(300), when isWanted: (ReachabilityStatus) -> Bool
    ) async -> ReachabilityStatus {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline, !Task.isCancelled {
            let status = self.monitor.status
            if self.monitor.isReady, isWanted(status) {
                // The monitor writes a status before it publishes the events of the same turn.
                _ = await self.monitor.firstStatus(within: .seconds(60))
                return status
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return self.monitor.status
    }

    /// How many multicast messages of a type were received.
    func received(_ type: NetlinkEvent.MessageType) -> Int {
        self.netlink.reduce(0) { sum, event in
            guard case .received(type, let count) = event else { return sum }
            return sum + count
        }
    }

    /// What the monitor said about netlink.
    var netlink: [NetlinkEvent] {
        self.sink.events.compactMap { event in
            guard case .netlink(let news) = event.payload else { return nil }
            return news
        }
    }

    /// What was published about links.
    var links: [LinkEvent] {
        self.sink.events.compactMap { event in
            guard case .link(let link) = event.payload else { return nil }
            return link
        }
    }

    /// How many changes of paths and links were published, first verdicts included.
    var changesAndLinks: Int {
        self.sink.events.count { $0.payload.topic == .path || $0.payload.topic == .link }
    }

    /// How many first verdicts were published.
    var firstVerdicts: Int {
        self.sink.events.count { event in
            guard case .path(let path) = event.payload else { return false }
            return path.lasted == nil
        }
    }

    /// The changes of one scope received so far, the first verdict left out.
    func changes(_ scope: PathEvent.Scope) -> [PathEvent] {
        self.sink.events.compactMap { event in
            guard case .path(let path) = event.payload, path.scope == scope, path.lasted != nil else { return nil }
            return path
        }
    }
}

extension ReachabilityStatus {
    func verdict(_ family: AddressFamily) -> Verdict {
        self.families.first { $0.family == family }?.verdict ?? .unknown
    }

    func verdict(_ target: String) -> Verdict? {
        self.targets.first { $0.target.description == target }?.verdict
    }

    func link(_ index: UInt32) -> Link? { self.links.first { $0.index == index } }
}

/// The machine's monotonic clock, for tests on the real kernel.
struct TestTime: TimeSource {
    private static let start = ContinuousClock.now

    func monotonic() -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + (ContinuousClock.now - TestTime.start)
    }

    func wall() -> WallTime {
        WallTime(microseconds: 1_790_000_000_000_000 + Int64(self.monotonic().nanoseconds / 1000))
    }
}

/// A resolver with scripted answers.
final class ScriptedResolver: NameResolver {
    private struct State {
        var names: [String: [IPAddress]]
        var invalidations = 0
        var questions: [String] = []
        var isSilent = false
    }

    private let state: Mutex<State>

    init(_ names: [String: [IPAddress]]) { self.state = Mutex(State(names: names)) }

    func resolve(_ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void) {
        let (answer, isSilent) = self.state.withLock { state in
            state.questions.append(name)
            return (state.names[name], state.isSilent)
        }
        if !isSilent { completion(answer.map { .success($0) } ?? .failure(.nameNotFound)) }
    }

    /// Answers no more questions.
    func fallSilent() { self.state.withLock { $0.isSilent = true } }

    func cached(_ name: String) -> [IPAddress]? { nil }

    func invalidate() { self.state.withLock { $0.invalidations += 1 } }

    func set(_ name: String, _ addresses: [IPAddress]) { self.state.withLock { $0.names[name] = addresses } }

    var invalidations: Int { self.state.withLock { $0.invalidations } }
    var questions: [String] { self.state.withLock { $0.questions } }
}

/// An address that a test is sure of.
func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

/// Asks again and again until the answer is yes or `limit` has passed; gives the last answer.
func eventually(within limit: Duration = .seconds(300), _ isTrue: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline, !Task.isCancelled {
        if isTrue() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return isTrue()
}
