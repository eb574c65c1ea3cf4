import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// What other processes announce to an observer, which runs as another user than they.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverAnnouncementTests {
    // As a process of Tidegate does it: the number of a socket (SO_COOKIE) to each observer's address.
    private static let prelude = """
        import os
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        def announce(cookie):
            for line in open("/proc/net/unix"):
                name = line.split()[-1]
                if name.startswith("@tidegate-observe-"): sender.sendto(cookie, "\\0" + name[1:])
        def cookie(connection): return connection.getsockopt(socket.SOL_SOCKET, 57, 8)

        """

    private static func lists(_ fixture: ObserverFixture) -> UInt64 {
        fixture.statistics.dumps[.established]?.counts.reduce(0, +) ?? 0
    }

    private static func live(_ fixture: ObserverFixture) -> Int {
        (fixture.statistics.traffic[.outgoing]?.connections ?? [:]).values.reduce(0, +)
    }

    @Test("Short connections that a process announces do not count, and all that the kernel counts adds up")
    func short() async throws {
        let fixture = try await ObserverFixture()
        let isListening = await eventually { Self.lists(fixture) > 0 }
        try #require(isListening)
        try await fixture.run(
            Self.prelude
                + """
                for number in range(21):
                    connection = socket.socket()
                    if number < 20: announce(cookie(connection))
                    connection.connect((far, 9000))
                    connection.sendall(b"x")
                    while connection.recv(4096): pass
                    connection.close()
                """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends == [.closed: 1] }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.connects == [.established: 1])
        #expect(fixture.statistics.excluded == [.announced: 20])
        #expect(fixture.statistics.failures.isEmpty)
        #expect(await fixture.observer.report().remotes.map(\.outcomes) == [[.closed: 1]])
        let isReconciled = await eventually { fixture.statistics.kernel?.activeOpens == 21 }
        #expect(isReconciled)
        #expect(fixture.statistics.unexplained[.connects] ?? 0 == 0)
    }

    @Test("Of short connections those count that another user than root and the observer's own announces")
    func strangers() async throws {
        var configuration = ConnectionsConfiguration()
        // A list would show the user of a connection.
        (configuration.connectingInterval, configuration.establishedInterval) = (.seconds(600), .seconds(600))
        let fixture = try await ObserverFixture(configuration)
        let isListening = await eventually { Self.lists(fixture) > 0 }
        try #require(isListening)
        try await fixture.run(
            Self.prelude
                + """
                for user in (0, 65534, 1234):
                    if os.fork(): os.wait()
                    else:
                        os.setuid(user)
                        connection = socket.socket()
                        announce(cookie(connection))
                        connection.connect((far, 9000))
                        connection.sendall(b"x")
                        while connection.recv(4096): pass
                        connection.close()
                        os._exit(0)
                """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends == [.closed: 1] }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.connects == [.established: 1])
        #expect(fixture.statistics.excluded == [.announced: 2])
    }

    @Test("Of a live connection another user's announcement is ignored, and its own user's takes it out")
    func live() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.establishedInterval = .seconds(1)
        let fixture = try await ObserverFixture(configuration)
        let isListening = await eventually { Self.lists(fixture) > 0 }
        try #require(isListening)
        let program = try fixture.start(
            Self.prelude
                + """
                connection = connect(9001)
                print(cookie(connection).hex())
                time.sleep(600)
                """)
        defer { program.signal(SIGKILL) }
        let isListed = await eventually { Self.live(fixture) == 1 && program.outputSoFar.hasSuffix("\n") }
        try #require(isListed)
        let number = program.outputSoFar.filter { !$0.isWhitespace }
        let announcement = "announce(bytes.fromhex(\"\(number)\"))"
        try await fixture.run(Self.prelude + "os.setuid(1234)\n" + announcement)
        let before = Self.lists(fixture)
        let isListedAgain = await eventually { Self.lists(fixture) >= before + 2 }
        #expect(isListedAgain)
        #expect(Self.live(fixture) == 1)
        try await fixture.run(Self.prelude + announcement)
        let isOut = await eventually { Self.live(fixture) == 0 }
        #expect(isOut)
        program.signal(SIGKILL)
        let isRead = await eventually { fixture.statistics.messages[.ipv4] == 1 }
        #expect(isRead)
        #expect(fixture.statistics.traffic[.outgoing]?.ends.values.reduce(0, +) ?? 0 == 0)
        #expect(fixture.connects == [.established: 1])
    }

    @Test("The end of a live connection counts although another user has announced it")
    func forged() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.establishedInterval = .seconds(1)
        let fixture = try await ObserverFixture(configuration)
        let isListening = await eventually { Self.lists(fixture) > 0 }
        try #require(isListening)
        let program = try fixture.start(
            Self.prelude
                + """
                connection = connect(9001)
                print(cookie(connection).hex())
                time.sleep(600)
                """)
        defer { program.signal(SIGKILL) }
        let isListed = await eventually { Self.live(fixture) == 1 && program.outputSoFar.hasSuffix("\n") }
        try #require(isListed)
        let number = program.outputSoFar.filter { !$0.isWhitespace }
        try await fixture.run(Self.prelude + "os.setuid(1234)\nannounce(bytes.fromhex(\"\(number)\"))")
        program.signal(SIGKILL)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends == [.closed: 1] }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.statistics.excluded.isEmpty)
    }
}
