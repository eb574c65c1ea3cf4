import Foundation
import Testing
import TidegateTestKit

private let canRestrict =
    NamespaceCommand.run(["/usr/bin/python3", "-c", "import seccomp"]).status == 0
    && NamespaceCommand.run(["systemd-analyze", "--version"]).status == 0
    && NamespaceCommand.run(["nginx", "-v"]).status == 0

/// The sidecar under the restrictions of its unit, which a script applies as systemd would.
@Suite(
    .enabled(if: canRestrict, "python3-seccomp, systemd or nginx is not installed"),
    .timeLimit(.minutes(5)))
struct SandboxTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "sandbox.py").path

    /// What the unit lets a program do.
    private static func sandbox(_ fixture: EndToEndFixture) async throws -> [String] {
        let unit = try await Program.expect([BuiltProduct.path(of: "tidegate"), "generate", "systemd"])
        try fixture.write(unit, to: "tidegate.service")
        return ["/usr/bin/python3", self.script, fixture.path("tidegate.service")]
    }

    @Test("The restrictions refuse what the unit says, and let a program read files")
    func restrictions() async throws {
        let fixture = try EndToEndFixture()
        defer { fixture.end() }
        let sandbox = try await Self.sandbox(fixture)
        #expect(try await Program.run(sandbox + ["cat", fixture.path("tidegate.service")]).status == 0)
        // None of them needs a capability, so the filter refuses them.
        let family = "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"
        let code = "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)"
        for command in [
            ["unshare", "--user", "true"], ["python3", "-c", family], ["python3", "-c", code],
            ["setarch", "--addr-no-randomize", "true"], ["nice", "-n", "5", "true"],
        ] {
            let free = try await Program.run(command)
            #expect(!free.errors.contains("not permitted"), "\(command) \(free)")
            let output = try await Program.run(sandbox + command)
            #expect(output.errors.contains("not permitted"), "\(command) \(output)")
        }
    }

    @Test("Probes, tasks, observed connections, page, support, reload and end work under the unit's restrictions")
    func sidecar() async throws {
        let (fixture, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { fixture.end() }
        let sandbox = hosts.onThisSide(try await Self.sandbox(fixture))
        try await Program.expect(hosts.onThisSide(["sysctl", "-w", "net.ipv4.ping_group_range=0 0"]))
        try fixture.write(String(repeating: "tide ", count: 1000), to: "file.txt")
        try await fixture.startNginx(on: hosts, rate: "1m")
        let daemon = try await fixture.startDaemon(
            """
            reachability: {targets: [{name: peer, url: "http://\(TwoHosts.peer)/file.txt", interval: 1s}]}
            modules: {web: {prober: http}, ping: {prober: icmp}, port: {prober: tcp}}
            probes: [{name: again, module: web, target: "http://\(TwoHosts.peer)/file.txt", every: 1s}]
            tasks: [{name: kept, url: "http://\(TwoHosts.peer)/file.txt", every: 1s, download: \(fixture.path("kept"))}]
            """, prefix: sandbox)
        for (module, target) in [
            ("web", "http://\(TwoHosts.peer)/file.txt"), ("ping", TwoHosts.peer), ("port", "\(TwoHosts.peer):80"),
        ] {
            #expect(try await daemon.probe(module, target)["probe_success"] == 1, "\(module): \(daemon.log)")
        }
        let program = sandbox + [BuiltProduct.path(of: "tidegate")]
        let control = ["--control.socket", fixture.socket]
        try await Program.expect(
            program + ["tasks", "submit", "http://\(TwoHosts.peer)/file.txt", "-o", fixture.path("copy")]
                + ["--key", "copy"] + control)
        try await Program.expect(program + ["tasks", "wait", "copy"] + control)
        #expect(try fixture.read("copy") == fixture.read("file.txt"))
        #expect(await eventually { fixture.size(of: "kept") == 5000 }, "\(daemon.log)")
        // Another program's connection is the kernel's to report.
        try await Program.expect(hosts.onThisSide(["curl", "-s", "http://\(TwoHosts.peer)/file.txt"]))
        #expect(try await eventually { try await daemon.metrics().sum("tidegate_observed_ends_total") > 0 })
        #expect(try await daemon.get("/").contains("<title>"))
        try await Program.expect(program + ["support", "-o", fixture.path("report.tar.gz")] + control)
        #expect(try await Program.expect(program + ["explain", "http://\(TwoHosts.peer)/file.txt"]).contains("works"))
        daemon.program.signal(SIGHUP)
        #expect(await eventually { daemon.log.contains("reloaded") }, "\(daemon.log)")
        let samples = try await daemon.metrics()
        #expect(samples["tidegate_target_reachable{target=\"peer\"}"] == 1)
        #expect(samples.nonzero("tidegate_task_failures_total").isEmpty)
        await daemon.stop()
        #expect(!daemon.log.contains("not permitted"), "\(daemon.log)")
    }
}
