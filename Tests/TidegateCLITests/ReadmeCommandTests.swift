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

    /// A directory with every file and program that the commands name, and the host of their URLs.
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
            for program in ["date", "curl"] {
                try "#!/bin/sh\necho \"$@\" > \(program).ran\n".write(
                    toFile: self.file("bin/\(program)"), atomically: true, encoding: .utf8)
                chmod(self.file("bin/\(program)"), 0o755)
            }
            try FileManager.default.createDirectory(atPath: self.file("www"), withIntermediateDirectories: true)
            try "a page".write(toFile: self.file("www/index.html"), atomically: true, encoding: .utf8)
        }

        func serve() async throws {
            let office = try #require(self.office)
            let authority = try await TestAuthority()
            // Its files are read as long as the servers run.
            self.authority = authority
            let identity = try await authority.sign(["example.com"])
            try office.host.put(
                try String(contentsOfFile: authority.certificate, encoding: .utf8), "ssl/certs/ca-certificates.crt")
            self.servers = [
                try office.router.start([
                    "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon",
                    "--listen-address=10.0.0.1", "--bind-interfaces", "--address=/example.com/198.51.100.2",
                    "--address=/a.root-servers.net/198.41.0.4",
                ])
            ]
            let script = """
                import http.server, ssl
                server = http.server.ThreadingHTTPServer(("198.51.100.2", 443), http.server.SimpleHTTPRequestHandler)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain("\(identity.certificate)", "\(identity.key)")
                server.socket = context.wrap_socket(server.socket, server_side=True)
                server.serve_forever()
                """
            try script.write(toFile: self.file("server.py"), atomically: true, encoding: .utf8)
            self.servers.append(
                try office.router.start(["sh", "-c", "cd \(self.path)/www && exec python3 ../server.py"]))
            let isServed = await eventually {
                (try? await office.run("wait", "--for", "https://example.com/", "--timeout", "0"))?.status == 0
            }
            try #require(isServed, "the host of the README is not there")
        }

        /// Runs a line of the README in a shell on the host; files go into the directory.
        func start(_ line: String) throws -> Program {
            try #require(self.office).start(
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

    /// Every `console` block: what follows its language, the command, and what it prints.
    private static func examples() throws -> [(state: String, command: String, output: [String])] {
        let root = URL(filePath: #filePath).appending(path: "../../../README.md").standardized
        let blocks = try String(contentsOf: root, encoding: .utf8).components(separatedBy: "```console").dropFirst()
        return try blocks.map { block in
            let lines = (block.components(separatedBy: "\n```").first ?? "").components(separatedBy: "\n")
            let command = try #require(lines.dropFirst().first)
            return (
                lines[0].trimmingCharacters(in: .whitespaces), String(command.dropFirst(2)), Array(lines.dropFirst(2))
            )
        }
    }

    @Test("The outputs in the README are what its commands print, but for times")
    func outputs() async throws {
        let site = try Site()
        try await site.serve()
        for example in try Self.examples() {
            if example.state == "cable unplugged" { try #require(site.office).router.ip("link set p0 down") }
            let output = await (try site.start(example.command)).finish()
            // An ellipsis stands for the rest.
            let isWhole = example.output.last != "…"
            let lines = output.output.split(separator: "\n", omittingEmptySubsequences: false)
            let printed = (isWhole ? lines[...] : lines.prefix(example.output.count - 1)).joined(separator: "\n")
            let shown = example.output.dropLast(isWhole ? 0 : 1).joined(separator: "\n")
            #expect(Self.stable(printed) == Self.stable(shown), "\(example.command): \(output.output)")
        }
    }

    // Times, and the addresses that links give themselves, differ from run to run.
    private static func stable(_ text: String) -> String {
        text.trimmingCharacters(in: .newlines).replacing(/[0-9.]+ (ms|s)\b/, with: "TIME")
            .replacing(/fe80:[0-9a-f:]+/, with: "fe80::1").replacing(/\s+/, with: " ")
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
                    await eventually { program.errorsSoFar.contains("control socket listening") },
                    "\(line): \(program.errorsSoFar)")
                continue
            }
            if line.hasPrefix("tidegate watch") {
                running.append(program)
                // A new link each time: which of them is seen depends on when the program listens.
                var count = 0
                let isSeen = await eventually {
                    count += 1
                    try? site.office?.host.ip("link add w\(count) type veth peer name x\(count)")
                    return program.outputSoFar.contains("{\"schema\":1,\"event\":\"link.")
                }
                #expect(isSeen, "\(line): \(program.outputSoFar)")
                continue
            }
            let output = await program.finish()
            #expect(output.status == 0, "\(line): \(output)")
            if line.hasSuffix("tasks list") { #expect(output.output.contains(" page ")) }
        }
        #expect(
            seen == [
                "connections", "watch", "wait", "run", "fetch", "probe", "serve", "tasks", "incidents", "report",
            ])
        #expect(site.text(of: "date.ran") == "\n" && site.text(of: "curl.ran") == "-sS https://example.com/\n")
        #expect(site.text(of: "index.html") == "a page")
        #expect(site.text(of: "report.html")?.contains("Outages and slow times seen by ") == true)
    }
}
