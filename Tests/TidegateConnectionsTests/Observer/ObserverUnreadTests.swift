import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Connections that are reset while something that came on them is unread.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverUnreadTests {
    // Sends as many bytes as it receives, and resets the connection once it has received an R.
    private static let sender = """
        import socket, struct
        listener = socket.create_server(("::", 9100), family=socket.AF_INET6, dualstack_ipv6=True)
        print("listening", flush=True)
        while True:
            connection = listener.accept()[0]
            try:
                while data := connection.recv(100):
                    # Acknowledged now, so that nothing is under way when it is reset.
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                    if data == b"R":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        break
                    connection.sendall(data)
            except OSError:
                pass
            connection.close()
        """

    // Lets so many bytes arrive that are not read; the remote resets the connection then, or else this side does.
    private static func leave(_ count: Int, isReset: Bool, from host: String) -> String {
        """
        connection = connect(9100, host=\(host))
        connection.sendall(b"x" * \(count))
        while len(connection.recv(100, socket.MSG_PEEK)) < \(count): pass
        if \(isReset ? "True" : "False"):
            connection.sendall(b"R")
            while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != b"\\x07": time.sleep(0.01)
        connection.close()
        """
    }

    @Test(
        "A connection that either side resets with unread bytes is that side's, even if there is only one",
        arguments: [1, 2, 3], ["far", "'::ffff:' + far", "'2001:db8:2::2'"])
    func unread(_ count: Int, host: String) async throws {
        let fixture = try await ObserverFixture()
        let server = try Program(["ip", "netns", "exec", fixture.hosts.far.name, "python3", "-c", Self.sender])
        defer { server.signal(SIGKILL) }
        let isListening = await eventually { server.outputSoFar.contains("listening") }
        try #require(isListening, "\(server.errorsSoFar)")
        let ends = { (fixture.statistics.traffic[.outgoing]?.ends ?? [:]).filter { $0.value > 0 } }
        try await fixture.run(Self.leave(count, isReset: true, from: host))
        let isReset = await eventually { !ends().isEmpty }
        #expect(isReset)
        #expect(ends() == [.reset: 1])
        try await fixture.run(Self.leave(count, isReset: false, from: host))
        let isAborted = await eventually { ends().values.reduce(0, +) == 2 }
        #expect(isAborted)
        #expect(ends() == [.reset: 1, .aborted: 1])
        #expect(fixture.statistics.failures.map(\.key.outcome) == [.reset])
    }
}
