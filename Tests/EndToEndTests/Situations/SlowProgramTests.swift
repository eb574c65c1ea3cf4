import Glibc
import Testing
import TidegateCore
import TidegateTestKit

/// What `explain` says of a clean network in which a program, or the server's program, makes a connection slow.
@Suite(
    .serialized, .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct SlowProgramTests {
    /// A connection from the client to port 81 of the server, and what both ends do with it.
    private struct Situation: Sendable {
        let name: String
        /// What the server does with the connection `c`.
        var server = "c.recv(1 << 16)"
        /// What the client does with the connection `c`.
        var client = "c.recv(1 << 16)"
        /// The receive buffer of each end, in bytes; 0 leaves it to the kernel.
        var buffers = (server: 0, client: 0)
        /// Nil if nothing is slow.
        var cause: String?
        var party: String?
    }

    // RecordedQualityTests replays these and others.
    private static let situations = [
        Situation(
            name: "the client reads slowly", server: "c.send(b'x' * 65536)",
            client: "c.recv(1024); time.sleep(0.05)", cause: "unreadData", party: "mine"),
        Situation(
            name: "the server has a small buffer", client: "c.send(b'x' * 65536)", buffers: (4096, 0),
            cause: "smallWindow", party: "theirs"),
        Situation(
            name: "the server sends in pieces", server: "c.send(b'x' * 10000); time.sleep(0.4)",
            cause: "serverPauses", party: "theirs"),
        Situation(name: "the client sends little", client: "c.send(b'x' * 1000); time.sleep(0.02)"),
    ]

    @Test("A program or a server that slows its own connection is named; one that has little to do is not")
    func situations() async throws {
        for first in stride(from: 0, to: Self.situations.count, by: 2) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for situation in Self.situations[first...].prefix(2) {
                    group.addTask { try await self.check(situation) }
                }
                try await group.waitForAll()
            }
        }
    }

    private func check(_ situation: Situation) async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let begin = "import socket, time; s = socket.socket(); s.setsockopt(6, 13, b'reno'); "
        func buffer(_ bytes: Int) -> String { bytes == 0 ? "" : "s.setsockopt(1, 8, \(bytes)); " }
        let server = try Program(
            lab.server.inside([
                "python3", "-c",
                begin + buffer(situation.buffers.server)
                    + "s.bind(('', 81)); s.listen(); print(flush=True); c = s.accept()[0]\nwhile True: \(situation.server)",
            ]))
        defer { server.signal(SIGKILL) }
        #expect(await eventually { server.outputSoFar == "\n" })
        let client = try Program(
            lab.client.inside([
                "python3", "-c",
                begin + buffer(situation.buffers.client)
                    + "s.connect(('\(SlowLab.serverAddress)', 81)); c = s; print(flush=True)\n"
                    + "while True: \(situation.client)",
            ]))
        defer { client.signal(SIGKILL) }
        #expect(await eventually { client.outputSoFar == "\n" })
        let output = try await Program(
            lab.client.inside([
                BuiltProduct.path(of: "tidegate"), "explain", "--for", "6s", "--json",
                "http://\(SlowLab.serverAddress)/",
            ])
        ).finish().output
        let quality = try JSONValue(parsing: output.utf8)["quality"]
        #expect(quality?["cause"] == .optional(situation.cause), "\(situation.name): \(output)")
        #expect(quality?["party"] == .optional(situation.party), "\(situation.name): \(output)")
    }

    @Test("A verbose transfer ends with what slowed it")
    func fetch() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let server = try Program(
            lab.server.inside([
                "python3", "-c",
                """
                import socket, time
                s = socket.socket(); s.bind(("", 81)); s.listen(); print(flush=True)
                c = s.accept()[0]; c.recv(65536)
                c.send(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n")
                for _ in range(25): c.send(b"x" * 10000); time.sleep(0.4)
                """,
            ]))
        defer { server.signal(SIGKILL) }
        #expect(await eventually { server.outputSoFar == "\n" })
        let output = try await Program(
            lab.client.inside([
                BuiltProduct.path(of: "tidegate"), "fetch", "-v", "-o", "/dev/null",
                "http://\(SlowLab.serverAddress):81/",
            ])
        ).finish()
        let last = output.errors.split(separator: "\n").last { $0.hasPrefix("* ") }
        #expect(last?.contains(": 203.0.113.2 sends in pieces, with pauses of ") ?? false, "\(output)")
    }

    @Test("A server that answers only the second SYN of each connection accepts late")
    func lateAccept() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        try ThreeHosts.filter(
            lab.server,
            """
            table ip late {
              set seen { type inet_service; flags dynamic; }
              chain in {
                type filter hook input priority 0;
                tcp dport 80 tcp flags & (syn | ack) == syn tcp sport != @seen add @seen { tcp sport } drop;
              }
            }
            """)
        let output = try await Program(
            lab.client.inside([
                BuiltProduct.path(of: "tidegate"), "explain", "--json", "http://\(SlowLab.serverAddress)/",
            ])
        ).finish().output
        let quality = try JSONValue(parsing: output.utf8)["quality"]
        #expect(quality?["cause"] == "lateAccept" && quality?["party"] == "theirs", "\(output)")
    }
}
