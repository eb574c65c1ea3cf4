import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Machines with more connections than most.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct ObserverManyTests {
    // A process may have 20,000 descriptors at least, where it may not raise that limit.
    private static let processes = 5
    private static let port = 9100

    // A process that is forked ends with the one that forked it (PR_SET_PDEATHSIG in prctl(2)).
    private static let fork = """
        import ctypes, os, signal, socket, struct
        def fork():
            child = os.fork()
            if child == 0: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            return child

        """

    // Each process keeps every connection to a port of its own.
    private static let server =
        fork + """
            listeners = [
                socket.create_server(("", \(port) + number), backlog=4096) for number in range(\(processes))]
            mine = next((one for one in listeners[1:] if fork() == 0), listeners[0])
            if mine is listeners[0]: print("listening", flush=True)
            kept = []
            while True: kept.append(mine.accept()[0])
            """

    // Each process opens connections to one of the ports, and resets them all at SIGUSR1, so that nothing of them waits
    // for the peer.
    private static func client(_ count: Int) -> String {
        self.fork + """
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            done, report = os.pipe()
            children = []
            for number in range(\(processes)):
                child = fork()
                if child == 0:
                    target = ("\(ThreeHosts.farAddress.ipv4)", \(port) + number)
                    kept = [socket.create_connection(target) for _ in range(\(count / processes))]
                    os.write(report, b"x")
                    signal.sigwait([signal.SIGUSR1])
                    for connection in kept:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        connection.close()
                    os._exit(0)
                children.append(child)
            for _ in children: os.read(done, 1)
            print("connected", flush=True)
            signal.sigwait([signal.SIGUSR1])
            for child in children: os.kill(child, signal.SIGUSR1)
            for child in children: os.waitpid(child, 0)
            """
    }

    private static func connected(_ count: Int, _ hosts: ThreeHosts) async throws -> (Program, Program) {
        try hosts.here.sysctl("net.ipv4.ip_local_port_range=1024 65000")
        let server = try Program(["ip", "netns", "exec", hosts.far.name, "python3", "-u", "-c", Self.server])
        try #require(await eventually { server.outputSoFar.contains("listening") }, "\(server.errorsSoFar)")
        let client = try Program(
            ["ip", "netns", "exec", hosts.here.name, "python3", "-u", "-c", Self.client(count)])
        try #require(
            await eventually { client.outputSoFar.contains("connected") },
            "\(client.errorsSoFar)")
        return (server, client)
    }

    private static func traffic(_ fixture: ObserverFixture) -> ConnectionStatistics.Traffic {
        fixture.statistics.traffic[.outgoing] ?? ConnectionStatistics.Traffic()
    }

    @Test("Fifty thousand live connections are all known, and each of their ends is counted or counted as lost")
    func live() async throws {
        let hosts = try ThreeHosts()
        let (server, client) = try await Self.connected(50_000, hosts)
        defer { server.signal(SIGKILL) }
        var configuration = ConnectionsConfiguration()
        configuration.maxTracked = 60_000
        // The first list shows them all.
        let fixture = try await ObserverFixture(configuration, on: hosts)
        let isKnown = await eventually { fixture.statistics.tracked == 50_000 }
        #expect(isKnown, "\(fixture.statistics.tracked)")
        #expect(Self.traffic(fixture).connections[.established] == 50_000)
        #expect(fixture.statistics.mode == .event)
        let report = await fixture.observer.report()
        #expect(report.remotes.map(\.established) == Array(repeating: 10_000, count: Self.processes))
        client.signal(SIGUSR1)
        #expect(await client.finish().status == 0)
        let isCounted = await eventually {
            (Self.traffic(fixture).ends[.aborted] ?? 0) + fixture.statistics.dropped == 50_000
        }
        #expect(isCounted, "\(Self.traffic(fixture).ends) \(fixture.statistics.dropped)")
        // How many are lost is the kernel's and the machine's speed (the socket's buffer is full), but never all.
        #expect(Self.traffic(fixture).ends[.aborted] ?? 0 > 0)
        // They were opened before.
        #expect(fixture.connects.isEmpty)
    }

    @Test("Of more connections than are tracked every connect and every end is counted all the same")
    func beyondLimit() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.maxTracked = 100
        let fixture = try await ObserverFixture(configuration)
        let (server, client) = try await Self.connected(250, fixture.hosts)
        defer { server.signal(SIGKILL) }
        // What a list could show is known by then.
        let lists = fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0
        let isListed = await eventually {
            fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0 >= lists + 8
        }
        #expect(isListed)
        #expect(fixture.statistics.tracked == 100)
        client.signal(SIGUSR1)
        #expect(await client.finish().status == 0)
        let isCounted = await eventually {
            (Self.traffic(fixture).ends[.aborted] ?? 0) + fixture.statistics.dropped == 250
        }
        #expect(isCounted, "\(Self.traffic(fixture).ends) \(fixture.statistics.dropped)")
        #expect(fixture.statistics.dropped < 125)
        #expect((fixture.connects[.established] ?? 0) + fixture.statistics.dropped == 250)
        let isEmpty = await eventually { fixture.statistics.tracked == 0 }
        #expect(isEmpty)
    }
}
