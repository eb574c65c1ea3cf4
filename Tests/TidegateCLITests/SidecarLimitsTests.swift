import Foundation
import Testing
import TidegateTestKit

/// What a sidecar refuses, and what it keeps to itself.
@Suite(.timeLimit(.minutes(5)))
struct SidecarLimitsTests {
    /// A daemon with a configuration, whose log has everything.
    private final class Daemon {
        let path = "/tmp/tidegate-limits-\(UUID().uuidString.prefix(8))"
        private let program: Program

        init(configuration: String, descriptors: Int? = nil, arguments: [String] = []) async throws {
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
            try configuration.write(toFile: "\(self.path)/c.yml", atomically: true, encoding: .utf8)
            let limit = descriptors.map { ["prlimit", "--nofile=\($0)"] } ?? []
            let program = try Program(
                limit + [
                    BuiltProduct.path(of: "tidegate"), "serve", "--config.file", "\(self.path)/c.yml", "--log.level",
                    "debug", "--web.listen-address", "127.0.0.1:0", "--state.dir", "\(self.path)/state",
                    "--control.socket", "\(self.path)/sock",
                ] + arguments)
            self.program = program
            let isUp = await eventually(within: .seconds(20)) {
                program.errorsSoFar.contains("msg=\"control socket listening\"")
            }
            try #require(isUp, "\(program.errorsSoFar)")
        }

        var log: String { self.program.errorsSoFar }

        /// The port of the endpoint.
        var port: Int? {
            guard let found = self.log.firstMatch(of: /msg=listening address=127\.0\.0\.1:([0-9]+)/) else { return nil }
            return Int(found.1)
        }

        /// How much processor time the daemon has used (proc_pid_stat(5)).
        var processorSeconds: Double {
            let text = (try? String(contentsOfFile: "/proc/\(self.program.id)/stat", encoding: .utf8)) ?? ""
            let fields = text.split(separator: " ")
            guard fields.count > 14 else { return 0 }
            return ((Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0)) / 100
        }

        func submit(_ arguments: String...) async throws -> Program.Output {
            try await Program.run(
                [BuiltProduct.path(of: "tidegate"), "tasks", "submit", "http://127.0.0.1:9/", "--control.socket"]
                    + ["\(self.path)/sock"] + arguments)
        }

        func stop() async -> Program.Output {
            self.program.signal(SIGTERM)
            return await self.program.finish(within: .seconds(12))
        }

        deinit {
            self.program.signal(SIGKILL)
            try? FileManager.default.removeItem(atPath: self.path)
        }
    }

    @Test(
        "A probe ends the offset before its scrape does", arguments: [([], "4.5"), (["--timeout-offset", "2"], "3")])
    func timeoutOffset(arguments: [String], limit: String) async throws {
        let daemon = try await Daemon(configuration: "modules: {m: {prober: tcp}}\n", arguments: arguments)
        let port = try #require(await eventualValue { daemon.port })
        let answer = try await Program.expect([
            "curl", "-s", "-H", "X-Prometheus-Scrape-Timeout-Seconds: 5",
            "http://127.0.0.1:\(port)/probe?module=m&target=127.0.0.1:\(port)",
        ])
        #expect(answer.contains("\nprobe_timeout_seconds \(limit)\n"), "\(answer)")
        _ = await daemon.stop()
    }

    @Test("The state directory is no place for a body, and no source of one")
    func state() async throws {
        let daemon = try await Daemon(configuration: "journal: {keep_completed: 1h}\n")
        for option in ["-o", "--upload-file"] {
            let output = try await daemon.submit(option, "\(daemon.path)/state/journal.sqlite")
            #expect(output.status == 2 && output.errors.contains("is in the daemon's state directory"), "\(output)")
        }
        _ = await daemon.stop()
    }

    @Test("Open tasks are bounded, and a known key is still answered")
    func open() async throws {
        let daemon = try await Daemon(configuration: "journal: {max_open_tasks: 1}\n")
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

    @Test("Without a free descriptor tasks and listeners wait, without a spin, and go on when there is one")
    func descriptors() async throws {
        let server = try LiveServer { .respond(text: $0.path).then(.close) }
        defer { server.stop() }
        let daemon = try await Daemon(
            configuration:
                "tasks: [{name: a, url: \"\(server.url("/a"))\", every: 1s}]\n",
            descriptors: 90)
        #expect(await eventually { !server.requests.isEmpty })
        let port = try #require(await eventualValue { daemon.port })
        let crowd = HostileClient(HostileClient.tricks[0], port: port, connections: 200)
        let isHeld = await eventually(within: .seconds(60)) {
            daemon.log.contains("reason=\"no file descriptor is free\"")
        }
        #expect(isHeld)
        let before = daemon.processorSeconds
        try await ContinuousClock().sleep(for: .seconds(3))
        // A loop that never waits would use all of the three seconds; swift-nio waits every other second.
        #expect(daemon.processorSeconds - before < 2.5)
        crowd.stop()
        let count = server.requests.count
        #expect(await eventually(within: .seconds(60)) { server.requests.count > count + 1 })
        let answer = try await Program.run(["curl", "-s", "http://127.0.0.1:\(port)/-/healthy"])
        #expect(answer.output == "Tidegate is healthy.\n", "\(answer)")
        let log = await daemon.stop().errors
        #expect(log.components(separatedBy: "only 90 files and sockets may be open").count == 2, "\(log)")
        #expect(!log.contains("outcome=failure"), "\(log)")
    }

    @Test("A debug log has no secret of the configuration in it")
    func secrets() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let url = server.url("/x?token=hunter2")
        let daemon = try await Daemon(
            configuration: "tasks: [{name: a, url: \"\(url)\", every: 1s, headers: {X-Key: hunter2}}]\n")
        #expect(await eventually { !server.requests.isEmpty })
        let log = await daemon.stop().errors
        #expect(log.contains("level=debug") && log.contains("name=a"), "\(log)")
        #expect(!log.contains("hunter2"), "\(log)")
    }
}
