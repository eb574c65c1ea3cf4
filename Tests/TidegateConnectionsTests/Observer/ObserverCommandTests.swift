import Foundation
import Glibc
import Testing
import TidegateCore
import TidegateTestKit

/// `tidegate connections` as a process beside programs that connect.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverCommandTests {
    private let hosts: ThreeHosts

    init() throws { self.hosts = try ThreeHosts() }

    private func command(_ arguments: [String]) -> [String] {
        [
            "ip", "netns", "exec", self.hosts.here.name, BuiltProduct.path(of: "tidegate"), "connections",
            "--control.socket", "/nonexistent/sock",
        ] + arguments
    }

    /// Connections to a server of the far host that keeps them, opened one after another by user 65534.
    private func start(port: Int, every pause: Double) async throws -> [Program] {
        let server = try Program([
            "ip", "netns", "exec", self.hosts.far.name, "python3", "-u", "-c",
            """
            import socket
            listener = socket.create_server(("", \(port)), backlog=64)
            print("listening")
            kept = []
            while True: kept.append(listener.accept()[0])
            """,
        ])
        let isListening = await eventually { server.outputSoFar.contains("listening") }
        try #require(isListening, "\(server.errorsSoFar)")
        let client = try Program([
            "ip", "netns", "exec", self.hosts.here.name, "python3", "-u", "-c",
            """
            import os, socket, time
            os.setuid(65534)
            kept = []
            while True:
                kept.append(socket.socket())
                kept[-1].connect(("\(ThreeHosts.farAddress.ipv4)", \(port)))
                print("open", flush=True)
                time.sleep(\(pause))
            """,
        ])
        let isOpen = await eventually { client.outputSoFar.contains("open") }
        try #require(isOpen, "\(client.errorsSoFar)")
        return [server, client]
    }

    private static func end(_ programs: [Program]) { for program in programs { program.signal(SIGKILL) } }

    /// The numbers in the column CONNS, of each list that was printed.
    private static func counts(in output: String) -> [Int] {
        output.matches(of: #/198\.51\.100\.2:7000 +- +out +([0-9]+) /#).compactMap { Int($0.1) }
    }

    @Test("--watch lists again every second what there is by then, until it is interrupted, which is status 130")
    func watch() async throws {
        let programs = try await self.start(port: 7000, every: 0.5)
        defer { Self.end(programs) }
        let watch = try Program(self.command(["--watch", "--port", "7000"]))
        let isRepeated = await eventually { Set(Self.counts(in: watch.outputSoFar)).count >= 3 }
        #expect(isRepeated, "\(watch.outputSoFar) \(watch.errorsSoFar)")
        watch.signal(SIGINT)
        let output = await watch.finish()
        #expect(output.status == 130, "\(output)")
        let counts = Self.counts(in: output.output)
        #expect(counts == counts.sorted() && counts.count >= 3, "\(counts)")
        #expect(output.output.components(separatedBy: "REMOTE ").count == counts.count + 1, "\(output.output)")
    }

    @Test("--watch --json prints one object on each line")
    func watchJSON() async throws {
        let programs = try await self.start(port: 7000, every: 0.5)
        defer { Self.end(programs) }
        let watch = try Program(self.command(["--watch", "--json"]))
        let isRepeated = await eventually { watch.outputSoFar.filter { $0 == "\n" }.count >= 3 }
        #expect(isRepeated, "\(watch.errorsSoFar)")
        watch.signal(SIGINT)
        let output = await watch.finish().output
        let reports = try output.split(separator: "\n").map {
            try JSONDecoder().decode(ConnectionsDocument.self, from: Data($0.utf8)).report
        }
        let counts = reports.compactMap { $0.remotes.first { $0.remote.port == 7000 }?.established }
        #expect(counts.count >= 3 && counts == counts.sorted() && Set(counts).count >= 2, "\(output)")
    }

    @Test("Owners are told by name, as a column or as rows")
    func owners() async throws {
        let programs = try await self.start(port: 7000, every: 600)
        defer { Self.end(programs) }
        let rows = try await Program.expect(self.command(["--by", "owner", "--port", "7000"])).split(separator: "\n")
        #expect(rows.count == 2 && rows[0].hasPrefix("OWNER "), "\(rows)")
        #expect(rows.last?.contains(#/^nobody(@[^ ]+)? +1 +1 +0 /#) == true, "\(rows)")
        let list = try await Program.expect(self.command(["--owner", "--port", "7000"])).split(separator: "\n")
        #expect(list.first?.contains(#/ANSWERED +OWNER +LAST OUTCOMES/#) == true, "\(list)")
        #expect(list.last?.contains(#/ago +nobody/#) == true, "\(list)")
        let json = try await Program.expect(self.command(["--json", "--port", "7000"]))
        #expect(json.contains("\"owners\":[{\"uid\":65534,"), "\(json)")
    }

    @Test("--failed without a daemon waits for failures, and says whose they are from the first one on")
    func failed() async throws {
        let program = try Program([
            "ip", "netns", "exec", self.hosts.here.name, "python3", "-c",
            """
            import socket, time
            while True:
                connection = socket.socket()
                connection.settimeout(5)
                try: connection.connect(("\(ThreeHosts.farAddress.ipv4)", 1))
                except ConnectionRefusedError: pass
                connection.close()
                time.sleep(0.1)
            """,
        ])
        defer { program.signal(SIGKILL) }
        let watch = try Program(self.command(["--failed"]))
        let isSaid = await eventually { watch.outputSoFar.contains(#/:1 .* refused [0-9]+ \(the server\)/#) }
        watch.signal(SIGINT)
        let output = await watch.finish()
        #expect(isSaid, "\(output)")
        #expect(!output.output.contains("this host"), "\(output.output)")
    }
}
