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

        func submit(_ arguments: String..., url: String = "http://127.0.0.1:9/") async throws -> Program.Output {
            try await Program.run(
                [BuiltProduct.path(of: "tidegate"), "tasks", "submit", url, "--control.socket"]
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

    @Test("No secret of the configuration, a submission or a probe is in any output")
    func secrets() async throws {
        let server = try LiveServer { request in
            request.path.hasPrefix("/away")
                ? .respond(302, ["Location: http://u:hunter2@127.0.0.1:1/?x=hunter2"])
                : .respond(200, ["Set-Cookie: sid=hunter2", "X-Vault-Token: hunter2"], text: "hunter2")
        }
        defer { server.stop() }
        let url = "http://u:hunter2@127.0.0.1:\(server.port)"
        let daemon = try await Daemon(configuration: Self.secretConfiguration(url))
        let program = BuiltProduct.path(of: "tidegate")
        let task = try await daemon.submit(
            "-H", "X-Vault-Namespace: hunter2", "--data", "hunter2", "--key", "k",
            url: "\(url)/h4Kd02LmQp93ZtYw7Rb1/p?token=hunter2")
        #expect(task.status == 0, "\(task)")
        func tasks(_ arguments: String...) async throws -> String {
            let output = try await Program.run(
                [program, "tasks"] + arguments + ["--control.socket", "\(daemon.path)/sock"])
            return output.output + output.errors
        }
        _ = try await tasks("wait", "k")
        let port = try #require(await eventualValue { daemon.port })
        let target = "\(url)/away?q=hunter2".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        var outputs: [String: String] = [:]
        for module in ["m", "o", "t", "w", "d", "i", "g"] {
            let to = module == "t" ? "u:hunter2@127.0.0.1%3A\(server.port)" : target
            outputs["probe \(module)"] = try await Program.expect([
                "curl", "-s", "http://127.0.0.1:\(port)/probe?module=\(module)&target=\(to)&debug=true",
            ])
        }
        for path in ["", "config", "metrics", "logs?target=\(target)"]
            + ["status", "targets", "tasks", "probes", "connections"].map({ "api/v1/\($0)" })
        {
            outputs[path] = try await Program.expect(["curl", "-s", "http://127.0.0.1:\(port)/\(path)"])
        }
        outputs["events"] = try await Program.run([
            "curl", "-s", "-m", "1", "http://127.0.0.1:\(port)/api/v1/events?since=0",
        ]).output
        outputs["curl"] = try await tasks("show", "k", "--as", "curl")
        outputs["har"] = try await tasks("show", "k", "--as", "har")
        outputs["show"] = try await tasks("show", "k") + tasks("list", "--json")
        outputs["log"] = await daemon.stop().errors
        for (name, text) in outputs {
            #expect(text.count > 20, "\(name) has nothing in it")
            #expect(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "\(name): \(text)")
        }
        for name in ["curl", "har", "log"] {
            #expect(outputs[name]?.contains("h4Kd02LmQp93ZtYw7Rb1") == false, "\(name)")
        }
        #expect(outputs["probe m"]?.contains("<secret>") == true && outputs["config"]?.contains("<secret>") == true)
    }

    private static func secretConfiguration(_ url: String) -> String {
        """
        modules:
          m:
            prober: http
            http:
              method: POST
              body: hunter2
              headers: {X-Vault-Token: hunter2}
              basic_auth: {username: u, password: hunter2}
          o:
            prober: http
            http:
              proxy_url: \(url)/
              proxy_connect_header: {X-Auth: [hunter2]}
              oauth2:
                client_id: i
                client_secret: hunter2
                token_url: "\(url)/t?x=hunter2"
                endpoint_params: {a: hunter2}
          t: {prober: tcp, tcp: {query_response: [{send: hunter2}]}}
          w: {prober: websocket, websocket: {headers: {Cookie: {secrets: [hunter2]}}}}
          d: {prober: dns, dns: {query_name: a.test}}
          i: {prober: icmp}
          g: {prober: grpc, grpc: {metadata: {x-a: hunter2}}}
        probes: [{name: p, module: m, target: "\(url)/away?q=hunter2", every: 1s}]
        reachability: {targets: [{name: r, url: "\(url)/r?x=hunter2"}]}
        remote_write: {url: "\(url)/w?x=hunter2", headers: {X-Scope-Token: hunter2}, interval: 1s}
        tasks: [{name: a, url: "\(url)/x?token=hunter2", every: 1s, headers: {X-Key: hunter2}}]
        transfers: {proxy: "http://u:hunter2@127.0.0.1:9", no_proxy: ["127.0.0.1"]}

        """
    }
}
