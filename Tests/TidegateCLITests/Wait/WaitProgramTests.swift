import Foundation
import Testing
import TidegateTestKit

/// `wait` and `run` with names and URLs, and on a terminal.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .serialized, .timeLimit(.minutes(5)))
struct WaitProgramTests {
    @Test("dns asks the resolver, dns:NAME wants an address of the name, and the first says no more than it knows")
    func names() async throws {
        let office = try Office()
        let server = try office.router.start([
            "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon", "--listen-address=10.0.0.1",
            "--bind-interfaces", "--local=/test/", "--local=/root-servers.net/", "--address=/db.test/10.0.0.1",
        ])
        defer { server.stop() }
        // The root server's name does not exist here: that, too, is an answer.
        #expect(await eventually { (try? await office.run("wait", "--for", "dns", "--timeout", "0"))?.status == 0 })
        #expect(try await office.run("wait", "--for", "dns:db.test", "--timeout", "0").status == 0)
        let missing = try await office.run("wait", "--for", "dns:nope.test", "--timeout", "0")
        #expect(missing.status == 1 && missing.errors == "tidegate: dns: nope.test: the name does not exist\n")
        let late = try await office.run("wait", "-q", "--for", "dns:nope.test", "--timeout", "1s")
        #expect(late.status == 75, "\(late)")
        #expect(late.errors == "tidegate: gave up after 1 s: dns: nope.test: the name does not exist\n")
    }

    @Test("A URL is met by its answer, with private authorities", .enabled(if: TestAuthority.isAvailable))
    func url() async throws {
        let office = try Office()
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["api.test"])
        try office.host.put("198.51.100.2 api.test\n127.0.0.1 localhost\n", "hosts")
        let url = "https://api.test/health"
        let program = try office.start([
            BuiltProduct.path(of: "tidegate"), "run", "--for", url, "--cacert", authority.certificate, "--", "echo",
            "up",
        ])
        try #require(
            await eventually { program.errorsSoFar.contains("waiting: tcp: \(url): ") }, "\(program.errorsSoFar)")
        let server = try office.router.start([
            "openssl", "s_server", "-accept", "198.51.100.2:443", "-quiet", "-www", "-cert", identity.certificate,
            "-key", identity.key,
        ])
        defer { server.stop() }
        let output = await program.finish()
        #expect(output.status == 0 && output.output == "up\n", "\(output)")
        let strange = try await office.run("wait", "--for", url, "--timeout", "0")
        #expect(strange.status == 1 && strange.errors.hasPrefix("tidegate: tls: \(url): "), "\(strange)")
        let none = try await office.run("wait", "--for", url, "--cacert", "/nowhere/ca.pem")
        #expect(none.status == 2 && none.errors.hasPrefix("tidegate: --cacert: /nowhere/ca.pem cannot be read"))
    }

    @Test("On a terminal one line is refreshed, and gone at the end; -q prints no line, -v each one")
    func terminal() async throws {
        let office = try Office()
        try office.router.ip("link set p0 down")
        #expect(await eventually { (try? await office.run("status"))?.status == 1 })
        func typed(_ command: String) async throws -> Program.Output {
            try await office.start(["script", "-qec", "\(BuiltProduct.path(of: "tidegate")) \(command)", "/dev/null"])
                .finish()
        }
        let line = "waiting 1 s of 2 s for route: v0 has no carrier\u{1B}[K"
        let last = "tidegate: gave up after 2 s: carrier: v0 has no carrier\r\n"
        for command in ["wait --timeout 2s", "run --timeout 2s -- true"] {
            let output = try await typed(command)
            #expect(output.status == 75 && output.output.contains("\r\(line)"), "\(output)")
            #expect(output.output.hasSuffix("\r\u{1B}[K\(last)"), "\(output)")
            #expect(output.output.utf8.count { $0 == UInt8(ascii: "\n") } == 1, "\(output)")
        }
        let verbose = try await typed("wait -v --timeout 2s")
        let lines = verbose.output.split(separator: "\r\n")
        #expect(lines.contains("waiting 1 s of 2 s for route: v0 has no carrier"), "\(verbose)")
        #expect(verbose.output.hasSuffix(last) && !verbose.output.contains("\u{1B}"), "\(verbose)")
        let quiet = try await typed("wait -q --timeout 2s")
        #expect(quiet.status == 75 && quiet.output == last, "\(quiet)")
    }
}
