import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateSessionTestKit

/// A session whose thread lives on the first of three hosts.
final class AttributionFixture: Sendable {
    let hosts: ThreeHosts
    let paths: NamespacePaths
    let recorder = RecordingSink()
    let session: Session

    init() throws {
        let hosts = try ThreeHosts()
        self.hosts = hosts
        self.paths = NamespacePaths(hosts.here)
        let bus = EventBus(time: SystemClock())
        bus.attach(self.recorder)
        self.session = try Session(
            .init(), bus: bus, paths: self.paths, resolver: ScriptedResolver(), time: SystemClock(),
            generator: SeededGenerator(seed: 7))
    }

    func far(_ family: AddressFamily) -> String {
        family == .ipv4 ? ThreeHosts.farAddress.ipv4 : ThreeHosts.farAddress.ipv6
    }

    func gateway(_ family: AddressFamily) -> String {
        family == .ipv4 ? ThreeHosts.gatewayAddress.ipv4 : ThreeHosts.gatewayAddress.ipv6
    }

    /// Routes 203.0.113.0/24 and 2001:db8:f::/48 by the gateway, which drops what goes there.
    func loseDocumentationNetworks() throws {
        try ThreeHosts.filter(
            self.hosts.gateway,
            """
            table inet t { chain f { type filter hook forward priority 0;
              ip daddr 203.0.113.0/24 drop; ip6 daddr 2001:db8:f::/48 drop; }; }
            """)
        try self.hosts.gateway.ip("route add 203.0.113.0/24 via 198.51.100.2")
        try self.hosts.gateway.ip("-6 route add 2001:db8:f::/48 via 2001:db8:2::2")
    }

    /// Makes a path by another gateway the one of every target.
    func useGateway(_ gateway: String) { self.paths.gateway.withLock { $0 = IPAddress(gateway) } }

    /// A server on the far host's IPv4 addresses.
    func serve(_ answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer) throws -> LiveServer {
        let box = ServerBox()
        try self.hosts.far.inside { box.server.withLock { $0 = try? LiveServer(address: "0.0.0.0", answer: answer) } }
        return try #require(box.server.withLock { $0 })
    }

    /// Whose failure the first attempt at a host was.
    func blame(
        for host: String, scheme: String = "http", within limit: Duration = .seconds(10)
    ) async throws -> Attribution {
        let place = host.count { $0 == ":" } > 1 ? "[\(host)]" : host
        let task = try self.start("\(scheme)://\(place)\(host.contains("/") ? "" : "/")", within: limit)
        return try await self.blame(of: task)
    }

    func start(_ url: String, within limit: Duration) throws -> TransferTask {
        var request = try TaskRequest(url: url)
        request.options.retry = .never
        request.options.connectTimeout = limit
        request.options.attemptTimeout = limit + .milliseconds(500)
        let task = self.session.makeTask(request)
        task.resume()
        return task
    }

    /// The attribution that the first failed attempt's event carries.
    func blame(of task: TransferTask) async throws -> Attribution {
        let recorder = self.recorder
        let attribution = { () -> Attribution? in
            for change in recorder.taskChanges(of: task.id) {
                if case .attemptFailed(_, _, let attribution, _) = change { return attribution }
            }
            return nil
        }
        let found = await eventualValue(of: attribution)
        task.cancel()
        return try #require(found)
    }
}

private final class ServerBox: Sendable {
    let server = Mutex<LiveServer?>(nil)
}

/// A scripted source on a host of its own; the session's thread enters its namespace with its first question.
///
/// Where the script says routed, it is by v0 and the gateway of the target's family.
final class NamespacePaths: PathSource {
    let scripted = ScriptedPathSource()
    /// Another gateway than the usual one.
    let gateway = Mutex<IPAddress?>(nil)
    private let namespace: NetworkNamespace

    init(_ namespace: NetworkNamespace) { self.namespace = namespace }

    func current(_ target: Target) -> TargetVerdict {
        self.namespace.enter()
        return self.placed(self.scripted.current(target))
    }

    func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
        self.namespace.enter()
        return self.scripted.watch(target) { sink(self.placed($0)) }
    }

    func holdsAddress(_ address: IPAddress) -> Bool { self.scripted.holdsAddress(address) }

    func family(_ family: AddressFamily) -> Verdict { self.scripted.family(family) }

    private func placed(_ said: TargetVerdict) -> TargetVerdict {
        guard said.verdict.level == .routed else { return said }
        let isIPv4 = said.target.address?.family != .ipv6
        let usual = IPAddress(isIPv4 ? ThreeHosts.gatewayAddress.ipv4 : ThreeHosts.gatewayAddress.ipv6)
        let path = NetworkPath(
            interface: "v0", index: 77, gateway: self.gateway.withLock { $0 } ?? usual,
            source: IPAddress(isIPv4 ? "10.0.0.2" : "2001:db8::2"))
        return TargetVerdict(target: said.target, verdict: Verdict(level: .routed, path: path))
    }
}
