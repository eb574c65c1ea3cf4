import Foundation
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// By which address a remote is known.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverAddressTests {
    @Test("A remote on the own link is known with its interface, and its round trips are those of the link")
    func linkLocal() async throws {
        let fixture = try await ObserverFixture()
        try fixture.hosts.gateway.ip("addr add fe80::9/64 dev p0 nodad")
        let server = try Program([
            "ip", "netns", "exec", fixture.hosts.gateway.name, "python3", "-c",
            """
            import socket
            listener = socket.create_server(("::", 9300), family=socket.AF_INET6)
            print("listening", flush=True)
            while True:
                connection = listener.accept()[0]
                while connection.recv(100): connection.sendall(b"y")
                connection.close()
            """,
        ])
        defer { server.signal(SIGKILL) }
        let isListening = await eventually { server.outputSoFar.contains("listening") }
        try #require(isListening, "\(server.errorsSoFar)")
        let program = try fixture.start(
            """
            import signal
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            connection = socket.create_connection(("fe80::9%v0", 9300), timeout=10)
            connection.sendall(b"x")
            connection.recv(1)
            signal.sigwait([signal.SIGUSR1])
            connection.close()
            """)
        let address = try #require(IPAddress("fe80::9%77"))
        let isListed = await eventually {
            await fixture.observer.report().remotes.contains { $0.remote.address == address && $0.established == 1 }
        }
        #expect(isListed, "\(program.errorsSoFar)")
        program.signal(SIGUSR1)
        #expect(await program.finish().status == 0)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends == [.closed: 1] }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.roundTrips.keys.map(\.self) == [.link])
        #expect(fixture.statistics.lastAnswers.keys.map(\.self) == [.link])
        // The list and the message are of one remote.
        let remotes = await fixture.observer.report().remotes
        #expect(remotes.map(\.remote) == [Remote(address, port: 9300, .outgoing)])
        #expect(remotes.map(\.outcomes) == [[.closed: 1]])
    }

    @Test("Behind a translated address a remote is the one that was dialled, and so is its target")
    func translated() async throws {
        let dialled = try #require(IPAddress("10.96.0.1"))
        let real = try #require(IPAddress(ThreeHosts.farAddress.ipv4))
        let fixture = try await ObserverFixture(targets: [
            ObservedTarget(name: "service", addresses: [dialled], port: 80),
            ObservedTarget(name: "backend", addresses: [real], port: 9000),
        ])
        try ThreeHosts.filter(
            fixture.hosts.here,
            """
            table ip t { chain o { type nat hook output priority -100; ip daddr 10.96.0.1 tcp dport 80 \\
            dnat to 198.51.100.2:9000; }; }
            """)
        try await fixture.run(
            """
            for _ in range(3):
                connection = connect(80, host="10.96.0.1")
                connection.sendall(b"hello")
                while connection.recv(4096): pass
                connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends == [.closed: 3] }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        let remotes = await fixture.observer.report().remotes
        #expect(remotes.map(\.remote) == [Remote(dialled, port: 80, .outgoing)])
        #expect(remotes.map(\.target) == ["service"])
        #expect(fixture.statistics.targets["service"]?.connects == [.established: 3])
        #expect(fixture.statistics.targets["service"]?.ends == [.closed: 3])
        #expect(fixture.statistics.targets["backend"]?.connects.values.reduce(0, +) ?? 0 == 0)
    }
}
