import Foundation
import Testing
import TidegateCore
import TidegateTestKit

/// What a sidecar refuses, and what it keeps to itself.
@Suite(.timeLimit(.minutes(5)))
struct SidecarLimitsTests {
    @Test(
        "A probe ends the offset before its scrape does", arguments: [([], "4.5"), (["--timeout-offset", "2"], "3")])
    func timeoutOffset(arguments: [String], limit: String) async throws {
        let daemon = try await ConfiguredDaemon(configuration: "modules: {m: {prober: tcp}}\n", arguments: arguments)
        let port = try #require(await eventualValue { daemon.port })
        let answer = try await Program.expect([
            "curl", "-s", "-H", "X-Prometheus-Scrape-Timeout-Seconds: 5",
            "http://127.0.0.1:\(port)/probe?module=m&target=127.0.0.1:\(port)",
        ])
        #expect(answer.contains("\nprobe_timeout_seconds \(limit)\n"), "\(answer)")
        _ = await daemon.stop()
    }

    @Test("A response of a few hundred bytes that becomes 320 MB costs no memory")
    func bomb() async throws {
        // Each block of 14 bytes is 16 MiB of zeros (RFC 7932).
        let start: [UInt8] = [0xCF, 0xFF, 0xFF, 0x7F, 0x00, 0x24, 0x00, 0xE2, 0xB1, 0x40, 0x72, 0xEF, 0xFF, 0x0D]
        let block: [UInt8] = [0xFC, 0xFF, 0xFF, 0x07, 0x40, 0x02, 0x20, 0x0E, 0x0B, 0x40, 0xF7, 0xFE, 0xDF, 0x00]
        let body = start + Array(repeatElement(block, count: 19).joined()) + [0x03]
        let server = try LiveServer { _ in .respond(200, ["Content-Encoding: br"], body: body) }
        defer { server.stop() }
        let daemon = try await ConfiguredDaemon(configuration: "journal: {keep_completed: 1h}\n")
        let before = try #require(daemon.peakMemory)
        let task = try await daemon.submit("--compressed", "--key", "k", url: server.url())
        #expect(task.status == 0, "\(task)")
        let end = try await daemon.tasks(["wait", "k"])
        let grown = try #require(daemon.peakMemory) - before
        #expect(grown < 160 << 20, "\(grown >> 20) MiB: \(end)")
        #expect(server.requests.count == 1)
        _ = await daemon.stop()
    }

    @Test("The state directory is no place for a body, and no source of one")
    func state() async throws {
        let daemon = try await ConfiguredDaemon(configuration: "journal: {keep_completed: 1h}\n")
        for option in ["-o", "--upload-file"] {
            let output = try await daemon.submit(option, "\(daemon.path)/state/journal.sqlite")
            #expect(output.status == 2 && output.errors.contains("is in the daemon's state directory"), "\(output)")
        }
        _ = await daemon.stop()
    }

    @Test("A command for incidents has no descriptor of a sidecar that serves, accepts tasks and transfers")
    func childDescriptors() async throws {
        let server = try LiveServer { _ in .respond(text: "") }
        let hung = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { hung.stop() }
        let daemon = try await ConfiguredDaemon(
            configuration: """
                reachability: {targets: [{name: web, url: "\(server.url("/"))", interval: 1s}]}
                incidents: {on_incident: [/bin/sh, -c, "cd FOLDER && python3 show.py > part && mv part shown"]}
                """, files: ["show.py": ShownDescriptors.program])
        let submitted = try await daemon.submit("-o", "\(daemon.path)/body", url: hung.url("/"))
        #expect(submitted.status == 0, "\(submitted)")
        #expect(await eventually { !hung.requests.isEmpty && !server.requests.isEmpty })
        server.stop()
        let shown = try #require(
            await eventualValue { try? Data(contentsOf: URL(filePath: "\(daemon.path)/shown")) }, "\(daemon.log)")
        let targets = try JSONDecoder().decode([String: String].self, from: shown)
        #expect(targets["0"]?.contains("memfd:incident") == true, "\(targets)")
        #expect(targets.keys.sorted() == ["0", "1", "2"], "\(targets)")
        _ = await daemon.stop()
    }

    @Test("Open tasks are bounded, and a known key is still answered")
    func open() async throws {
        let daemon = try await ConfiguredDaemon(configuration: "journal: {max_open_tasks: 1}\n")
        let first = try await daemon.submit("--suspended", "--key", "k")
        #expect(first.status == 0, "\(first)")
        let second = try await daemon.submit("--suspended")
        #expect(second.status == 1 && second.errors.contains("as many as journal.max_open_tasks allows"), "\(second)")
        #expect(try await daemon.submit("--suspended", "--key", "k").output == first.output)
        let answer = try await Program.expect([
            "curl", "-s", "-i", "--unix-socket", "\(daemon.path)/sock", "-H", "Content-Type: application/json", "-d",
            #"{"url":"http://127.0.0.1:9/","suspended":true}"#, "http://localhost/api/v1/tasks",
        ])
        #expect(answer.hasPrefix("HTTP/1.1 429 ") && answer.lowercased().contains("retry-after: 10\r\n"), "\(answer)")
        _ = await daemon.stop()
    }

    @Test("A limit below what the sidecar itself needs is refused with one sentence")
    func fewestDescriptors() async throws {
        let output = try await Program.run([
            "prlimit", "--nofile=127", BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address",
            "127.0.0.1:0", "--state.dir", "/nowhere/state", "--control.socket", "/nowhere/sock",
        ])
        #expect(output.status == 1, "\(output)")
        #expect(
            output.errors
                == "tidegate: 127 files may be open, and 128 are needed: raise LimitNOFILE= in the unit, or ulimit -n\n"
        )
    }

    @Test(
        "A crowd of clients leaves descriptors to tasks, and to the next client",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func descriptors() async throws {
        let server = try LiveServer { .respond(text: $0.path).then(.close) }
        defer { server.stop() }
        let daemon = try await ConfiguredDaemon(
            configuration:
                "tasks: [{name: a, url: \"\(server.url("/a"))\", every: 1s}]\n",
            descriptors: 128)
        #expect(await eventually { !server.requests.isEmpty })
        let port = try #require(await eventualValue { daemon.port })
        // With more new connections a slow machine is busy with accepting them.
        let crowd = HostileClient(HostileClient.tricks[0], port: port, connections: 200, reconnects: 2)
        let before = daemon.processorSeconds
        try await ContinuousClock().sleep(for: .seconds(3))
        let count = server.requests.count
        #expect(await eventually { server.requests.count > count + 1 })
        // A loop that never waits would use all of the three seconds.
        #expect(daemon.processorSeconds - before < 2.5)
        let holdings = try daemon.holdings
        #expect(holdings.descriptors < 112, "\(holdings)")
        crowd.stop()
        let next = server.requests.count
        #expect(await eventually { server.requests.count > next })
        let answer = try await Program.run(["curl", "-s", "http://127.0.0.1:\(port)/-/healthy"])
        #expect(answer.output == "Tidegate is healthy.\n", "\(answer)")
        let end = await daemon.stop()
        let log = end.errors
        #expect(end.status == 0, "\(log.suffix(4000))")
        #expect(log.components(separatedBy: "only 128 files and sockets may be open").count == 2, "\(log)")
        #expect(!log.contains("outcome=failure"), "\(log)")
    }

    @Test("A crowd on the control socket leaves descriptors to tasks")
    func controlCrowd() async throws {
        let server = try LiveServer { .respond(text: $0.path).then(.close) }
        defer { server.stop() }
        let daemon = try await ConfiguredDaemon(
            configuration: "tasks: [{name: a, url: \"\(server.url("/a"))\", every: 1s}]\n", descriptors: 128)
        #expect(await eventually { !server.requests.isEmpty })
        // Beyond the backlog a connect would wait.
        let crowd = try Program([
            "python3", "-c",
            """
            import socket, sys, time
            held = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) for _ in range(120)]
            waiting = sum(one.connect_ex(sys.argv[1]) != 0 for one in held)
            print(waiting, flush=True)
            time.sleep(300)
            """, "\(daemon.path)/sock",
        ])
        #expect(await eventually { Int(crowd.outputSoFar.dropLast()) ?? 0 > 0 })
        let count = server.requests.count
        #expect(await eventually { server.requests.count > count + 1 })
        let holdings = try daemon.holdings
        #expect(holdings.descriptors < 112, "\(holdings)")
        crowd.signal(SIGKILL)
        _ = await crowd.finish()
        let log = await daemon.stop().errors
        #expect(!log.contains("outcome=failure"), "\(log)")
    }

    @Test(
        "Crowds with every trick leave a sidecar no memory, descriptor or thread",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func crowds() async throws {
        // The thread of echoes would start in the middle.
        let daemon = try await ConfiguredDaemon(
            configuration: "quality: {active: false}\n", arguments: ["--log.level", "info"])
        let port = try #require(await eventualValue { daemon.port })
        let before = try daemon.holdings
        var left: [ProcessHoldings] = []
        for round in 0..<5 {
            let crowds = HostileClient.tricks.enumerated().map {
                HostileClient($1, port: port, connections: 52, from: "127.0.0.\($0 + 2)", seed: UInt64(round))
            }
            try await ContinuousClock().sleep(for: .seconds(3))
            let crowded = try daemon.holdings
            #expect(crowded.descriptors > before.descriptors + 100, "\(crowded)")
            for crowd in crowds { crowd.stop() }
            let isGone = try await eventually { try daemon.holdings.descriptors < before.descriptors + 16 }
            #expect(isGone, "before: \(before); \(daemon.log)")
            left.append(try daemon.holdings)
        }
        // The heap is trimmed each minute; 3 KB a connection would show.
        let isTrimmed = try await eventually {
            try daemon.holdings.memory < before.memory + 8 << 20
        }
        #expect(isTrimmed, "before: \(before), between: \(left)")
        // The last connections of a crowd may still have been open when it was gone.
        let most = left.map(\.descriptors).min() ?? 0
        let isClosed = try await eventually { try daemon.holdings.descriptors <= most }
        let end = try daemon.holdings
        #expect(isClosed && end.threads <= left[0].threads, "between: \(left), after: \(end)")
        _ = await daemon.stop()
    }
}

/// Sidecars that may open few descriptors, on a host with a way out that works.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .serialized,
    .timeLimit(.minutes(10)))
struct FewDescriptorsTests {
    private let office: Office
    private let programs: [RunningCommand]

    // Beyond the router a resolver and web servers answer, and nothing answers for 203.0.113.0/24.
    init() async throws {
        let office = try Office(resolver: "198.51.100.2")
        try office.router.sysctl("net.ipv4.ip_forward=1")
        try office.router.batch("route add local 198.51.100.0/24 dev lo\nroute add blackhole 203.0.113.0/24")
        self.programs = [
            try office.router.start([
                "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon",
                "--listen-address=198.51.100.2", "--bind-interfaces", "--local=/root-servers.net/",
                "--address=/web.test/198.51.100.3",
            ]), try office.router.start(["python3", "-c", Self.slowServer]),
        ]
        self.office = office
        let isUp = await eventually {
            (try? await office.start(["curl", "-s", "http://198.51.100.2/"]).finish())?.status == 0
        }
        try #require(isUp)
    }

    // Each answer takes a second and a half, so that connections add up.
    private static let slowServer = """
        import asyncio
        async def answer(reader, writer):
            await reader.readuntil(b"\\r\\n\\r\\n")
            await asyncio.sleep(1.5)
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
            await writer.drain()
            writer.close()
        async def serve():
            server = await asyncio.start_server(answer, "0.0.0.0", 80, backlog=1024)
            await server.serve_forever()
        asyncio.run(serve())
        """

    private func start(_ configuration: String, descriptors: Int) async throws -> ConfiguredDaemon {
        try await ConfiguredDaemon(
            configuration: configuration, descriptors: descriptors,
            prefix: ["ip", "netns", "exec", self.office.host.name])
    }

    private static func targets(_ numbers: ClosedRange<Int>, in network: String, every interval: String) -> String {
        numbers.map {
            "    - {name: \"\(network).\($0)\", url: \"http://\(network).\($0)/\", interval: \(interval), timeout: 5s}\n"
        }.joined()
    }

    private static func probes(_ numbers: ClosedRange<Int>, in network: String, every interval: String) -> String {
        numbers.map {
            "  - {name: \"p\(network).\($0)\", module: m, target: \"http://\(network).\($0)/\", every: \(interval)}\n"
        }.joined()
    }

    @Test(
        "With 128 descriptors and more targets and probes than that, every one that answers is found to answer",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func healthy() async throws {
        let daemon = try await self.start(
            "quality: {active: false}\nreachability:\n  targets:\n"
                + Self.targets(10...79, in: "198.51.100", every: "5s") + "    - {name: web, host: web.test, port: 80}\n"
                + "modules: {m: {prober: http, timeout: 5s}}\nprobes:\n"
                + Self.probes(100...159, in: "198.51.100", every: "5s"), descriptors: 128)
        try await ContinuousClock().sleep(for: .seconds(60))
        let incidents = try await daemon.incidents()
        #expect(incidents.isEmpty, "\(incidents)")
        let status = try await self.status(of: daemon)
        let levels = Self.members("level", of: status["targets"])
        #expect(levels == Array(repeating: .string("online"), count: 71), "\(levels)")
        let end = await daemon.stop()
        #expect(end.status == 0, "\(end.errors.suffix(4000))")
        #expect(!end.errors.contains("msg=\"target failed\""), "\(end.errors.suffix(4000))")
    }

    @Test(
        "With few descriptors and many silent targets, no target that answers and no network is accused",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), arguments: [128, 256])
    func silent(descriptors: Int) async throws {
        let daemon = try await self.start(
            "quality: {active: false}\nreachability:\n  targets:\n"
                + Self.targets(10...29, in: "198.51.100", every: "2s") + "    - {name: web, host: web.test, port: 80}\n"
                + Self.targets(1...60, in: "203.0.113", every: "10s")
                + "modules: {m: {prober: http, timeout: 5s}}\nprobes:\n"
                + Self.probes(201...250, in: "203.0.113", every: "5s"), descriptors: descriptors)
        try await ContinuousClock().sleep(for: .seconds(40))
        let incidents = try await daemon.incidents()
        // Silent targets and probes are down; nothing else is.
        #expect(!incidents.isEmpty)
        let others = incidents.filter { !"\($0["target"] ?? .null)".contains("203.0.113.") }
        #expect(others.isEmpty, "\(others)")
        let levels = Self.members("level", of: try await self.status(of: daemon)["targets"])
        #expect(levels.count { $0 == .string("online") } == 21, "\(levels)")
        let end = await daemon.stop()
        #expect(end.status == 0, "\(end.errors.suffix(4000))")
        #expect(!end.errors.contains("resolv.conf"), "\(end.errors.suffix(4000))")
    }

    private func status(of daemon: ConfiguredDaemon) async throws -> JSONValue {
        let port = try #require(daemon.port)
        let answer = try await self.office.start(["curl", "-s", "http://127.0.0.1:\(port)/api/v1/status"]).finish()
        return try JSONValue(parsing: answer.output.utf8)
    }

    private static func members(_ name: String, of list: JSONValue?) -> [JSONValue] {
        guard case .array(let values)? = list else { return [] }
        return values.map { $0[name] ?? .null }
    }
}
