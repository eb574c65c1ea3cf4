import CLinux
import Foundation
import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Which connections count, and that what was not seen of them is known.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverCountingTests {
    @Test("This program's own connections do not count, while those of others beside them do")
    func own() async throws {
        let fixture = try await ObserverFixture()
        let far = try #require(IPAddress(ThreeHosts.farAddress.ipv4))
        // The observer asks for the kernel's messages before its first list.
        let isListening = await eventually {
            fixture.statistics.dumps[.listeners]?.counts.contains { $0 > 0 } ?? false
        }
        #expect(isListening)
        for _ in 0..<20 {
            try fixture.hosts.here.inside { Self.connect(to: far, port: 9000, noting: fixture.own) }
        }
        try await fixture.run(
            """
            connection = connect(9000)
            connection.sendall(b"x")
            while connection.recv(4096):
                pass
            connection.close()
            """)
        let isRead = await eventually { fixture.statistics.messages[.ipv4] == 21 }
        #expect(isRead, "\(fixture.statistics)")
        #expect(fixture.statistics.traffic[.outgoing]?.ends == [.closed: 1])
        #expect(fixture.statistics.connects.filter { $0.value > 0 } == [.established: 1])
        #expect(fixture.statistics.excluded == [.own: 20])
        #expect(await fixture.observer.report().remotes.map(\.outcomes) == [[.closed: 1]])
    }

    private static func connect(to address: IPAddress, port: UInt16, noting own: OwnSockets) {
        // A program that another test starts must not inherit it, and keep it open.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        own.insert(tg_socket_cookie(descriptor))
        var remote = sockaddr_in()
        remote.sin_family = sa_family_t(AF_INET)
        remote.sin_port = port.bigEndian
        remote.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.bits.low).bigEndian
        _ = withUnsafePointer(to: &remote) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        _ = write(descriptor, "x", 1)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(descriptor, &buffer, buffer.count) > 0 {}
        close(descriptor)
    }

    @Test("Messages that were read and those that were lost add up, and no more is unexplained than was lost")
    func losses() async throws {
        var configuration = ConnectionsConfiguration()
        (configuration.receiveBufferBytes, configuration.establishedInterval) = (65_536, .seconds(1))
        let fixture = try await ObserverFixture(configuration)
        // A burst without a pause for the reader: the connects fail at once.
        try await fixture.run(
            """
            import os
            child = os.fork()
            for _ in range(1000):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex((far, 9000))
                connection.close()
            if child:
                os.waitpid(child, 0)
            """)
        let total = { (fixture.statistics.messages[.ipv4] ?? 0) + fixture.statistics.dropped }
        let isComplete = await eventually { total() == 2000 }
        #expect(isComplete, "\(total())")
        #expect(fixture.statistics.unexplained[.connects] ?? 0 <= fixture.statistics.dropped)
    }

    @Test("Connections that peers open count, but not those to a port at which this program listens")
    func incoming() async throws {
        let fixture = try await ObserverFixture()
        let listener = try NetworkNamespaceListener(port: 7000, in: fixture.hosts.here)
        let program = try fixture.start(
            """
            listener = socket.create_server(("", 8000))
            print("listening")
            connection = listener.accept()[0]
            connection.recv(1)
            connection.close()
            time.sleep(60)
            """)
        defer { program.signal(SIGKILL) }
        let isListening = await eventually { program.outputSoFar.contains("listening") }
        try #require(isListening)
        // So many lists of listeners have been made since.
        let lists = { fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0 }
        let before = lists()
        let isListed = await eventually { lists() >= before + 2 }
        #expect(isListed)
        try await Program.expect([
            "ip", "netns", "exec", fixture.hosts.far.name, "python3", "-c",
            """
            import socket
            for port in (7000, 8000):
                connection = socket.create_connection(("10.0.0.2", port), timeout=10)
                connection.sendall(b"x")
                connection.close()
            """,
        ])
        let isCounted = await eventually { fixture.statistics.traffic[.incoming]?.ends.values.reduce(0, +) == 1 }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.accepts == 1)
        #expect(await fixture.observer.report().remotes.map(\.remote.port) == [8000])
        withExtendedLifetime(listener) {}
    }
}
