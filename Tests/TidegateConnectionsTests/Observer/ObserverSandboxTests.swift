import Foundation
import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateLoop
import TidegateNetwork
import TidegateTestKit

/// Kernels without the part that knows sockets, sandboxes, and namespaces that go away.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverSandboxTests {
    // Starts a program for which socket(AF_NETLINK, …, NETLINK_SOCK_DIAG) fails with EPROTONOSUPPORT (seccomp(2)).
    private static let sandbox = [
        "python3", "-c",
        """
        import ctypes, os, platform, struct, sys
        number, architecture = {"x86_64": (41, 0xC000003E), "aarch64": (198, 0xC00000B7)}[platform.machine()]
        def step(code, true, false, value): return struct.pack("HBBI", code, true, false, value)
        program = b"".join([
            step(0x20, 0, 0, 4), step(0x15, 0, 7, architecture),
            step(0x20, 0, 0, 0), step(0x15, 0, 5, number),
            step(0x20, 0, 0, 16), step(0x15, 0, 3, 16),
            step(0x20, 0, 0, 32), step(0x15, 0, 1, 4),
            step(0x06, 0, 0, 0x00050000 | 93), step(0x06, 0, 0, 0x7FFF0000),
        ])
        buffer = ctypes.create_string_buffer(program, len(program))
        whole = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, whole, 0, 0): sys.exit("no filter")
        os.execvp(sys.argv[1], sys.argv[1:])
        """,
    ]

    private static let opens = "tidegate_tcp_active_opens_total"
    private static let refusal = "opening a netlink socket: Protocol mismatch"

    @Test("In a sandbox without such sockets the command says so, and its status is 3")
    func command() async throws {
        let namespace = try NetworkNamespace("b")
        let output = try await Program.run(
            ["ip", "netns", "exec", namespace.name] + Self.sandbox + [
                BuiltProduct.path(of: "tidegate"), "connections", "--control.socket", "/nonexistent/sock",
            ])
        #expect(output.status == 3, "\(output)")
        #expect(output.errors.contains(Self.refusal), "\(output)")
        #expect(output.output.isEmpty)
    }

    @Test("In such a sandbox the daemon counts what the kernel counts, and all else works")
    func daemon() async throws {
        let hosts = try ThreeHosts()
        let daemon = try await ObservingDaemon(in: hosts.here, "{}\n", by: Self.sandbox)
        let isSaid = try await eventually {
            try await daemon.metrics()["tidegate_observation_mode{mode=\"counters\"}"] == 1
        }
        #expect(isSaid)
        let known = try await eventualValue { try await daemon.metrics()[Self.opens] }
        let before = try #require(known)
        try await Program.expect([
            "ip", "netns", "exec", hosts.here.name, "python3", "-c",
            """
            import socket
            for _ in range(7):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(("\(ThreeHosts.farAddress.ipv4)", 9))
                connection.close()
            """,
        ])
        let isCounted = try await eventually {
            try await daemon.metrics()[Self.opens] ?? 0 >= before + 7
        }
        #expect(isCounted)
        let metrics = try await daemon.metrics()
        #expect(metrics["tidegate_default_path{family=\"ipv4\"}"] == 1, "\(metrics.keys.sorted())")
        #expect(metrics.filter { $0.key.hasPrefix("tidegate_observed_") }.allSatisfy { $0.value == 0 })
    }

    @Test("A kernel that cannot list sockets is reported as such, until it can")
    func missing() async throws {
        let namespace = try NetworkNamespace("o")
        let isThere = Latch()
        var options = NetlinkOptions()
        options.onThreadStart = { namespace.enter() }
        // What a kernel without tcp_diag answers: NLMSG_ERROR with ENOENT, and the request's number.
        options.edit = { kind, bytes in
            guard kind == .socketDumps, !isThere.isOpen, bytes.count >= 16 else { return bytes }
            let header = [36, 0, 0, 0, 2, 0, 0, 0] + Array(bytes[8..<16])
            return header + [0xFE, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 16)
        }
        let observer = try ConnectionObserver(
            ConnectionsConfiguration(), options: options, ConnectionObserver.Environment(time: SystemClock()))
        defer { observer.stop() }
        let report = await observer.report()
        #expect(report.mode == .counters)
        #expect(report.reason == "listing sockets: No such file or directory")
        isThere.open()
        let isBack = await eventually { observer.statistics.mode == .event }
        #expect(isBack, "\(observer.statistics.mode)")
        #expect(await observer.report().reason == nil)
    }

    @Test("In a namespace that is deleted observing goes on, also when its links are gone")
    func deleted() async throws {
        let fixture = try await ObserverFixture()
        let program = try fixture.start(
            """
            while True:
                try:
                    connection = connect(9000, limit=1)
                    connection.sendall(b"x")
                    while connection.recv(4096): pass
                    connection.close()
                except OSError as error:
                    print(error.errno, flush=True)
                time.sleep(0.1)
            """)
        defer { program.signal(SIGKILL) }
        let ends = { fixture.statistics.traffic[.outgoing]?.ends[.closed] ?? 0 }
        let isCounted = await eventually { ends() >= 2 }
        try #require(isCounted)
        try NamespaceCommand.check(["ip", "netns", "delete", fixture.hosts.here.name])
        let before = ends()
        let goesOn = await eventually { ends() >= before + 10 }
        #expect(goesOn)
        #expect(fixture.statistics.mode == .event)
        // The end of the gateway takes its links with it, and this host's, which are their other ends.
        try NamespaceCommand.check(["ip", "netns", "delete", fixture.hosts.gateway.name])
        let isCut = await eventually { program.outputSoFar.contains("101") }
        #expect(isCut, "\(program.outputSoFar)")
        let lists = fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0
        let isAlive = await eventually {
            fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0 >= lists + 3
        }
        #expect(isAlive)
        #expect(await fixture.observer.report().mode == .event)
    }
}
