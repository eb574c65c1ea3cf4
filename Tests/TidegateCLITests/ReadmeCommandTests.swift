import Foundation
import Glibc
import Testing
import TidegateTestKit

/// The commands of the README, run as they stand there.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable && TestAuthority.isAvailable, "needs root, ip(8) and openssl(1)"),
    .timeLimit(.minutes(5)))
struct ReadmeCommandTests {
    /// Every line of the README's `sh` blocks that runs tidegate, without its comment.
    private static func commands() throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        var isShell = false
        return readme.split(separator: "\n").compactMap { line in
            if line.hasPrefix("```") { isShell = line == "```sh" }
            guard isShell, line.hasPrefix("tidegate ") else { return nil }
            return line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
        }
    }

    /// A directory with every file and program that the commands name, and the two hosts of their URLs.
    private final class Site {
        let office = try? Office()
        let path = "/tmp/tidegate-readme-\(UUID().uuidString.prefix(8))"
        private var authority: TestAuthority?
        private var servers: [RunningCommand] = []

        func file(_ name: String) -> String { "\(self.path)/\(name)" }

        func text(of name: String) -> String? { try? String(contentsOfFile: self.file(name), encoding: .utf8) }

        init() throws {
            try FileManager.default.createDirectory(atPath: self.file("bin"), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: self.file("bin/tidegate"), withDestinationPath: BuiltProduct.path(of: "tidegate"))
            try "#!/bin/sh\necho synced > synced\n".write(toFile: self.file("sync"), atomically: true, encoding: .utf8)
            try "#!/bin/sh\necho \"$@\" > copied\n".write(
                toFile: self.file("bin/rsync"), atomically: true, encoding: .utf8)
            for script in ["sync", "bin/rsync"] { chmod(self.file(script), 0o755) }
            try "reachability:\n".write(toFile: self.file("tidegate.yml"), atomically: true, encoding: .utf8)
            try "rate_limit:\n".write(toFile: self.file("web.yml"), atomically: true, encoding: .utf8)
            // With -HTTP, openssl(1) sends files that are whole responses.
            for (name, body) in [("image.iso", "an image"), ("big.iso", "something big")] {
                try "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)".write(
                    toFile: self.file("bin/\(name)"), atomically: true, encoding: .utf8)
            }
        }

        func serve() async throws {
            let office = try #require(self.office)
            let authority = try await TestAuthority()
            // Its files are read as long as the servers run.
            self.authority = authority
            let identity = try await authority.sign(["example.com", "api.example.com"])
            try office.put(
                try String(contentsOfFile: authority.certificate, encoding: .utf8), "ssl/certs/ca-certificates.crt")
            self.servers = [
                try office.router.start([
                    "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon",
                    "--listen-address=10.0.0.1", "--bind-interfaces", "--address=/example.com/10.0.0.1",
                    "--address=/api.example.com/198.51.100.2", "--address=/a.root-servers.net/198.41.0.4",
                ])
            ]
            for (address, kind) in [("198.51.100.2", "-www"), ("10.0.0.1", "-HTTP")] {
                let server = "openssl s_server -accept \(address):443 -quiet \(kind)"
                self.servers.append(
                    try office.router.start([
                        "sh", "-c",
                        "cd \(self.path)/bin && exec \(server) -cert \(identity.certificate) -key \(identity.key)",
                    ]))
            }
            let isServed = await eventually(within: .seconds(20)) {
                for host in ["example.com", "api.example.com"] {
                    let check = try? await office.run("wait", "--for", "host:\(host):443", "--timeout", "0")
                    guard check?.status == 0 else { return false }
                }
                return true
            }
            try #require(isServed, "the hosts of the README are not there")
        }

        /// Runs a line of the README in a shell on the host; files go into the directory.
        func start(_ line: String) throws -> Program {
            let line = line.replacing("/srv/", with: "\(self.path)/")
            return try #require(self.office).start(
                ["sh", "-c", "cd \(self.path) && exec \(line)"],
                environment: [
                    "PATH": "\(self.path)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")",
                    "RUNTIME_DIRECTORY": self.file("run"), "STATE_DIRECTORY": self.file("state"),
                ])
        }

        deinit {
            for server in self.servers { server.stop() }
            try? FileManager.default.removeItem(atPath: self.path)
        }
    }

    @Test("Every command of the README does what it says")
    func commands() async throws {
        let site = try Site()
        try await site.serve()
        var running: [Program] = []
        defer { for program in running { program.signal(SIGKILL) } }
        var seen: Set<Substring> = []
        for line in try Self.commands() {
            seen.insert(line.split(separator: " ")[1])
            let program = try site.start(line)
            if line.hasPrefix("tidegate serve") {
                running.append(program)
                #expect(
                    await eventually(within: .seconds(20)) { program.errorsSoFar.contains("control socket listening") },
                    "\(line): \(program.errorsSoFar)")
                continue
            }
            if line.hasPrefix("tidegate watch") {
                running.append(program)
                // A new link each time: which of them is seen depends on when the program listens.
                var count = 0
                let isSeen = await eventually(within: .seconds(20)) {
                    count += 1
                    try? site.office?.host.ip("link add w\(count) type veth peer name x\(count)")
                    return program.outputSoFar.contains("{\"schema\":1,\"event\":\"link.")
                }
                #expect(isSeen, "\(line): \(program.outputSoFar)")
                continue
            }
            let output = await program.finish(within: .seconds(60))
            #expect(output.status == 0, "\(line): \(output)")
            if line.hasSuffix("tasks list") { #expect(output.output.contains("https://example.com/big.iso")) }
        }
        #expect(seen == ["explain", "status", "watch", "wait", "run", "fetch", "serve", "tasks"])
        #expect(site.text(of: "synced") == "synced\n" && site.text(of: "copied") == "-a src dst:\n")
        #expect(site.text(of: "image.iso") == "an image")
        #expect(await eventually(within: .seconds(20)) { site.text(of: "big.iso") == "something big" })
    }
}
