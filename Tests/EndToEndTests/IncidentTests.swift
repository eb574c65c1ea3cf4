import Foundation
import Testing
import TidegateCore
import TidegateTestKit

/// Outages as the sidecar records them, and as commands, API, metrics and log show them.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct IncidentTests {
    /// The incidents of a list or an API.
    struct List: Decodable {
        struct Incident: Decodable {
            struct Affected: Decodable { var targets: [String] }

            var id, kind, scope, party, cause, start, certainty: String
            var target, end, endReason, continues, note, reference: String?
            var downSeconds: Double
            var affected: Affected
        }

        struct Coverage: Decodable { var watchedSeconds, downSeconds, stoppedSeconds: Double }

        var incidents: [Incident]
        var coverage: Coverage
    }

    private static let configuration = """
        reachability: {targets: [{name: web, host: \(TwoHosts.peer), port: 80, interval: 1s}]}
        """

    private struct Commands {
        let fixture: EndToEndFixture
        let hosts: TwoHosts

        func run(_ arguments: [String]) async throws -> Program.Output {
            let state = ["--control.socket", self.fixture.socket]
            return try await Program.run(
                self.hosts.onThisSide([BuiltProduct.path(of: "tidegate")] + arguments + state))
        }

        /// The incidents of the target, the newest first.
        func ofTarget() async throws -> [List.Incident] { try await self.list(["--scope", "target"]).incidents }

        func list(_ options: [String] = []) async throws -> List {
            let output = try await self.run(
                ["incidents", "list", "--json", "--state.dir", self.fixture.path("state")] + options)
            try #require(output.status == 0, "\(output)")
            return try JSONDecoder().decode(List.self, from: Data(output.output.utf8))
        }
    }

    @Test("An outage of a target is recorded, is continued after kill -9, ends, and can be read without the daemon")
    func target() async throws {
        let (fixture, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { fixture.end() }
        let commands = Commands(fixture: fixture, hosts: hosts)
        // Nothing listens on the peer's port yet.
        let first = try await fixture.startDaemon(Self.configuration, prefix: hosts.onThisSide([]))
        let opened = try #require(
            try await eventualValue { try await commands.ofTarget().first }, "\(first.log)")
        #expect(opened.scope == "target" && opened.target == "web" && opened.party == "theirs" && opened.end == nil)
        #expect(opened.certainty == "proven" && opened.cause.contains("refused"))
        #expect(first.log.contains("msg=\"incident opened\""))
        let samples = try await first.metrics()
        let labels = "{scope=\"target\",kind=\"down\",party=\"theirs\"}"
        #expect(samples["tidegate_incidents_total\(labels)"] == 1 && samples["tidegate_incident_open\(labels)"] == 1)
        let api = try JSONDecoder().decode(
            List.self, from: Data(try await first.get("/api/v1/incidents?party=theirs").utf8))
        #expect(api.incidents.map(\.id) == [opened.id])
        let note = try await commands.run(["incidents", "note", opened.id, "line fault", "--reference", "T-1"])
        #expect(note.status == 0 && note.output == "Noted on \(opened.id).\n", "\(note)")

        // The journal takes up to half a second.
        let isStored = try await eventually { try await commands.ofTarget().first?.note == "line fault" }
        #expect(isStored)
        try await Task.sleep(for: .seconds(1))
        first.program.signal(SIGKILL)
        _ = await first.program.finish()
        let offline = try await commands.ofTarget()
        #expect(offline.map(\.id) == [opened.id] && offline.first?.reference == "T-1")

        let second = try await fixture.startDaemon(Self.configuration, prefix: hosts.onThisSide([]))
        let continued = try await eventually {
            let list = try await commands.ofTarget()
            return list.count == 2 && list[0].continues == opened.id && list[1].endReason == "stopped"
        }
        #expect(continued, "\(second.log)")
        try await fixture.startNginx(on: hosts, rate: "1m")
        let ended = try await eventually { try await commands.ofTarget().first?.endReason == "recovered" }
        #expect(ended, "\(second.log)")
        let text = try await commands.run(["incidents", "show", commands.ofTarget()[0].id])
        #expect(text.output.contains("the server, proven"), "\(text)")
        await second.stop()
        let list = try await commands.list()
        #expect(list.coverage.watchedSeconds > 0 && list.coverage.stoppedSeconds > 80 * 86_400)
    }

    @Test("A pulled cable is one incident with the targets behind it, and the guard says so while it lasts")
    func cable() async throws {
        let (fixture, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { fixture.end() }
        let commands = Commands(fixture: fixture, hosts: hosts)
        try await fixture.startNginx(on: hosts, rate: "1m")
        let daemon = try await fixture.startDaemon(Self.configuration, prefix: hosts.onThisSide([]))
        #expect(try await eventually { try await commands.run(["guard", "web"]).status != 3 }, "\(daemon.log)")
        try hosts.pullCable()
        let opened = try await eventualValue {
            try await commands.list(["--open"]).incidents.first {
                $0.scope == "network" && !$0.affected.targets.isEmpty
            }
        }
        let incident = try #require(opened, "\(daemon.log)")
        #expect(incident.party == "mine" && incident.affected.targets == ["web"] && incident.certainty == "proven")
        let muted = try await commands.run(["guard"])
        #expect(muted.status == 1 && muted.output.contains("this host"), "\(muted)")
        let answer = try await Program.run(
            hosts.onThisSide(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", daemon.url("/api/v1/guard")]))
        #expect(answer.output == "503")
        try hosts.plugCable()
        let ended = try await eventually {
            let list = try await commands.list().incidents
            // Nothing is beyond the peer, so that the provider is responsible from then on.
            return list.contains { $0.id == incident.id && $0.endReason == "partyChanged" }
                && list.contains { $0.continues == incident.id && $0.party == "upstream" && $0.affected.targets == [] }
        }
        #expect(ended, "\(daemon.log)")
        await daemon.stop()
    }

    @Test(
        "A snippet of the documentation reports a dead server, and not the own cable",
        arguments: [
            ("guard", "does not answer", nil),
            ("uptime-kuma", "/api/push/secret?status=down", "/api/push/secret?status=up"),
            (
                "gatus", "/api/v1/endpoints/core_web/external?success=false",
                "/api/v1/endpoints/core_web/external?success=true"
            ),
        ] as [(String, String, String?)])
    func snippets(name: String, report: String, quiet: String?) async throws {
        let (fixture, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { fixture.end() }
        let commands = Commands(fixture: fixture, hosts: hosts)
        let monitor = try await Snippet(name, in: fixture, hosts)
        // Nothing listens on the peer's port.
        let daemon = try await fixture.startDaemon(Self.configuration, prefix: hosts.onThisSide([]))
        let isOpen = try await eventually { try await commands.ofTarget().first?.party == "theirs" }
        #expect(isOpen, "\(daemon.log)")
        #expect(try await monitor.run().contains(report))
        try hosts.pullCable()
        let isNoticed = try await eventually { try await commands.run(["guard", "web"]).status == 1 }
        #expect(isNoticed, "\(daemon.log)")
        let after = try await monitor.run()
        #expect(!after.contains(report) && (quiet.map(after.contains) ?? after.isEmpty), "\(after)")
        await daemon.stop()
    }

    /// A snippet of docs/incidents.md, with a monitor that notes what is reported to it.
    private struct Snippet {
        private let fixture: EndToEndFixture
        private let hosts: TwoHosts
        private let monitor: Program
        private let text: String

        init(_ name: String, in fixture: EndToEndFixture, _ hosts: TwoHosts) async throws {
            (self.fixture, self.hosts) = (fixture, hosts)
            let page = try String(
                contentsOf: Dashboard.folder.deletingLastPathComponent().appendingPathComponent("docs/incidents.md"),
                encoding: .utf8)
            let block = try #require(page.components(separatedBy: "```sh \(name)\n").dropFirst().first)
            self.text = try #require(block.components(separatedBy: "```").first)
            let tools = fixture.folder.appendingPathComponent("tools")
            try FileManager.default.createDirectory(at: tools, withIntermediateDirectories: true)
            let scripts = [
                "tidegate": "exec \(BuiltProduct.path(of: "tidegate")) \"$@\" --control.socket \(fixture.socket)",
                "raise-alarm": "echo \"$@\" >> \(fixture.path("reports"))",
            ]
            for (tool, script) in scripts {
                let file = tools.appendingPathComponent(tool).path
                try "#!/bin/sh\n\(script)\n".write(toFile: file, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
            }
            try fixture.write(
                """
                import http.server
                class Handler(http.server.BaseHTTPRequestHandler):
                    def do_GET(self):
                        with open("\(fixture.path("reports"))", "a") as file: file.write(self.path + "\\n")
                        self.send_response(200)
                        self.end_headers()
                    do_POST = do_GET
                print("ready", flush=True)
                http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()

                """, to: "monitor.py")
            self.monitor = try await fixture.start(
                hosts.onThisSide(["python3", "-u", fixture.path("monitor.py")]), until: "ready")
        }

        /// Runs it once; returns what was reported.
        func run() async throws -> String {
            try? FileManager.default.removeItem(atPath: self.fixture.path("reports"))
            let values = [
                "url=http://\(TwoHosts.peer)/", "host=web", "kuma=http://127.0.0.1:8080", "gatus=http://127.0.0.1:8080",
                "token=secret", "key=core_web", "PATH=\(self.fixture.path("tools")):/usr/bin:/bin",
            ]
            _ = try await Program.run(self.hosts.onThisSide(["env"] + values + ["sh", "-c", self.text]))
            return (try? self.fixture.read("reports")) ?? ""
        }
    }

    @Test(
        "A wrong time, party or scope is one sentence that names the option",
        arguments: [
            (["--since", "yesterday"], "--since: \"yesterday\" is not a time"),
            (["--since", "1d", "--until", "2d"], "is not before --until"),
            (["--party", "isp"], "--party: \"isp\" is not one of mine, gateway"),
            (["--scope", "world"], "--scope: \"world\" is not one of network, gateway, target, probe, uplink"),
        ])
    func usage(options: [String], message: String) async throws {
        let output = try await Program.run([BuiltProduct.path(of: "tidegate"), "incidents"] + options)
        #expect(output.status == 2 && output.errors.contains(message), "\(output)")
        #expect(output.errors.split(separator: "\n").count == 1)
    }

    @Test("Without a daemon and without a journal one sentence names both")
    func nothing() async throws {
        let output = try await Program.run([
            BuiltProduct.path(of: "tidegate"), "incidents", "--control.socket", "/nowhere/sock", "--state.dir",
            "/nowhere",
        ])
        #expect(output.status == 1 && output.errors.contains("/nowhere/journal.sqlite cannot be read"), "\(output)")
        #expect(output.errors.contains("no daemon listens on /nowhere/sock"))
    }
}
