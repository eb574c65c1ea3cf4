import CLinux
import Foundation
import Synchronization
import TidegateConnections
import TidegateCore
import TidegateLoop
import TidegateNetwork
import TidegateTestKit

/// An observer on the first of three hosts, as a user without privileges, with programs on the first and the last.
final class ObserverFixture: Sendable {
    let hosts: ThreeHosts
    let observer: ConnectionObserver
    let own = OwnSockets()
    private let server: Program
    private let recorded: RecordedEvents

    // Ports of the far host: 9000 answers and closes, 9001 keeps connections, 9002 resets them, 9003 never reads.
    private static let services = """
        import socket, struct, threading, time
        def serve(port, handle):
            listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=512, dualstack_ipv6=True)
            def loop():
                while True:
                    handle(listener.accept()[0])
            threading.Thread(target=loop, daemon=True).start()
        def answer(connection):
            connection.recv(65536)
            connection.sendall(b"x" * 1000)
            connection.close()
        kept = []
        def echo(connection):
            kept.append(connection)
            def loop():
                try:
                    while True:
                        data = connection.recv(65536)
                        if not data: return connection.close()
                        connection.sendall(b"ok")
                except OSError:
                    pass
            threading.Thread(target=loop, daemon=True).start()
        def reset(connection):
            connection.recv(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        serve(9000, answer)
        serve(9001, echo)
        serve(9002, reset)
        serve(9003, kept.append)
        print("listening", flush=True)
        time.sleep(600)
        """

    /// Starts the hosts, their programs and the observer, whose look-ups of routes have no answer before `routes` is open.
    init(
        _ configuration: ConnectionsConfiguration = ConnectionsConfiguration(), on hosts: ThreeHosts? = nil,
        targets: [ObservedTarget] = [], routes: Latch? = nil
    ) async throws {
        let hosts = try hosts ?? ThreeHosts()
        let recorded = RecordedEvents()
        self.hosts = hosts
        self.recorded = recorded
        let server = try Program(
            ["ip", "netns", "exec", hosts.far.name, "python3", "-c", Self.services])
        self.server = server
        guard await eventually({ server.outputSoFar.contains("listening") }) else {
            throw TextError("services: \(server.errorsSoFar)")
        }
        var options = NetlinkOptions()
        options.onThreadStart = {
            hosts.here.enter()
            _ = tg_thread_become(65_534)
        }
        let route = AddressRoute(
            verdict: Verdict(
                level: .routed,
                path: NetworkPath(
                    interface: "v0", index: 77, gateway: IPAddress(ThreeHosts.gatewayAddress.ipv4))),
            link: "v0")
        self.observer = try ConnectionObserver(
            configuration, own: self.own, options: options,
            ConnectionObserver.Environment(
                time: SystemClock(), publish: { recorded.add($0) },
                route: { _ in
                    if let routes, await !eventually({ routes.isOpen }) { return AddressRoute(verdict: .unknown) }
                    return route
                }, targets: { targets }))
    }

    deinit {
        self.observer.stop()
        self.server.signal(SIGKILL)
    }

    /// The events so far.
    var events: [ConnectionEvent] { self.recorded.events }

    /// What has been counted.
    var statistics: ConnectionStatistics { self.observer.statistics }

    /// What became of connects, as far as there were any.
    var connects: [ConnectionOutcome: UInt64] { self.statistics.connects.filter { $0.value > 0 } }

    /// Runs Python on the first host to its end.
    func run(_ script: String) async throws {
        try await Program.expect(["ip", "netns", "exec", self.hosts.here.name, "python3", "-c", Self.prelude + script])
    }

    /// Starts Python on the first host.
    func start(_ script: String) throws -> Program {
        try Program(["ip", "netns", "exec", self.hosts.here.name, "python3", "-u", "-c", Self.prelude + script])
    }

    private static let prelude = """
        import socket, struct, time, sys
        far = "\(ThreeHosts.farAddress.ipv4)"
        def connect(port, host=far, limit=10):
            connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            connection.settimeout(limit)
            connection.connect((host, port))
            return connection

        """
}

/// The events of an observer.
private final class RecordedEvents: Sendable {
    private let list = Mutex<[ConnectionEvent]>([])

    var events: [ConnectionEvent] { self.list.withLock { $0 } }

    func add(_ event: ConnectionEvent) { self.list.withLock { $0.append(event) } }
}
