import Foundation
import Testing
import TidegateTestKit

/// `explain` and `wait` as people use them, with names, certificates and dead links.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .serialized, .timeLimit(.minutes(5)))
struct ExplainProgramTests {
    private static func document(_ output: Program.Output) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(output.output.utf8)) as? [String: Any] ?? [:]
    }

    @Test("A name that does not exist ends with 1, and is this host's request")
    func noSuchName() async throws {
        let office = try Office()
        let server = try office.router.start([
            "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--no-daemon",
            "--listen-address=10.0.0.1", "--bind-interfaces", "--local=/test/",
            "--address=/a.root-servers.net/198.41.0.4",
        ])
        defer { server.stop() }
        let isServed = await eventually {
            (try? await office.run("wait", "--for", "dns", "--timeout", "0"))?.status == 0
        }
        try #require(isServed)
        let text = try await office.run("explain", "-4", "nosuch.test:80")
        #expect(text.status == 1, "\(text)")
        #expect(
            text.output.contains("nosuch.test does not exist\nfails at   dns\nwhose      this host\n"), "\(text.output)"
        )
        let brief = try await office.run("explain", "--brief", "-4", "nosuch.test:80")
        #expect(brief.status == 1 && brief.output == "This host: nosuch.test does not exist.\n", "\(brief)")
        let both = try await office.run("explain", "--brief", "-4", "nosuch.test:80", "10.0.0.1:1")
        #expect(
            both.output == """
                nosuch.test:80: This host: nosuch.test does not exist.
                10.0.0.1:1: The server 10.0.0.1 refuses connections on port 1.

                """, "\(both)")
        let document = try Self.document(try await office.run("explain", "nosuch.test", "--json"))
        #expect(document["firstFailure"] as? String == "dns" && document["party"] as? String == "mine")
        let wait = try await office.run("wait", "--for", "host:nosuch.test", "--timeout", "0")
        #expect(wait.status == 1 && wait.errors.hasPrefix("tidegate: dns: nosuch.test: "), "\(wait)")
    }

    @Test("--for says that a path cannot be measured")
    func notMeasured() async throws {
        let text = try await Office().run("explain", "--for", "2s", "10.0.0.2")
        #expect(text.status == 0 && text.output.hasPrefix("10.0.0.2 works\n"), "\(text)")
        let finding = "but        its path was not measured: a tunnel, a proxy or this host itself\n"
        #expect(text.output.contains(finding), "\(text.output)")
    }

    @Test("A resolver port without a listener ends with 1, and is the resolver's failure")
    func deadResolver() async throws {
        let office = try Office()
        let text = try await office.run("explain", "-4", "api.test", "--timeout", "10s")
        #expect(
            text.status == 1 && text.output.contains("nothing listens at port 53 of 10.0.0.1\nfails at   dns\n"),
            "\(text)")
        #expect(text.output.contains("whose      the resolver\n"), "\(text.output)")
        #expect(text.output.contains("advice     Start the name server on 10.0.0.1"), "\(text.output)")
    }

    @Test("wait on a dead link: 75 with the rung in the last line, 1 at once with --timeout 0, and 0 when it is there")
    func deadLink() async throws {
        let office = try Office()
        #expect(try await office.run("wait", "--timeout", "2").status == 0)
        try office.router.ip("link set p0 down")
        #expect(await eventually { (try? await office.run("status"))?.status == 1 })
        let waited = try await office.run("wait", "--for", "route", "--timeout", "2")
        #expect(waited.status == 75 && waited.output.isEmpty, "\(waited)")
        let last = waited.errors.split(separator: "\n").last ?? ""
        #expect(last == "tidegate: gave up after 2 s: carrier: v0 has no carrier", "\(waited.errors)")
        let tested = try await office.run("wait", "--for", "route", "--timeout", "0")
        #expect(tested.status == 1 && tested.errors == "tidegate: carrier: v0 has no carrier\n", "\(tested)")
        let flag = try await office.run("wait", "--for", "route", "--tiemout", "2")
        #expect(flag.status == 2 && flag.errors.contains("--tiemout"), "\(flag)")
    }

    @Test(
        "An expired certificate of a known authority is reported with its expiry date",
        .enabled(if: TestAuthority.isAvailable))
    func expired() async throws {
        let office = try Office()
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["api.test"], .past)
        // The system's own authorities, as ip-netns(8) puts them in place: this one is among them.
        try office.host.put(
            try String(contentsOfFile: authority.certificate, encoding: .utf8), "ssl/certs/ca-certificates.crt")
        try office.host.put("198.51.100.2 api.test\n127.0.0.1 localhost\n", "hosts")
        let server = try office.router.start([
            "openssl", "s_server", "-accept", "198.51.100.2:443", "-quiet", "-cert", identity.certificate, "-key",
            identity.key,
        ])
        defer { server.stop() }
        let isServed = await eventually {
            (try? await office.run("wait", "--for", "host:198.51.100.2:443", "--timeout", "0"))?.status == 0
        }
        try #require(isServed)
        let output = try await office.run("explain", "-4", "https://api.test/")
        #expect(output.status == 1, "\(output)")
        #expect(output.output.contains("does not work: the certificate expired on 1 Feb 2024"), "\(output.output)")
        #expect(output.output.contains("fails at   tls\n"), "\(output.output)")
        #expect(output.output.contains("whose      the server\n"))
    }

    @Test("A private authority makes the tls rung good", .enabled(if: TestAuthority.isAvailable))
    func authority() async throws {
        let office = try Office()
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["api.test"])
        try office.host.put("198.51.100.2 api.test\n127.0.0.1 localhost\n", "hosts")
        let server = try office.router.start([
            "openssl", "s_server", "-accept", "198.51.100.2:443", "-quiet", "-www", "-cert", identity.certificate,
            "-key", identity.key,
        ])
        defer { server.stop() }
        let isServed = await eventually {
            (try? await office.run("wait", "--for", "host:198.51.100.2:443", "--timeout", "0"))?.status == 0
        }
        try #require(isServed)
        let refused = try await office.run("explain", "-4", "https://api.test/")
        #expect(refused.status == 1 && refused.output.contains("fails at   tls\n"), "\(refused)")
        let trusted = try await office.run("explain", "-4", "https://api.test/", "--cacert", authority.certificate)
        #expect(trusted.status == 0, "\(trusted)")
        let document = try Self.document(
            try await office.run(
                "explain", "-4", "https://api.test/", "--json", "--cacert", authority.certificate))
        let families = document["families"] as? [String: [String: Any]]
        let rungs = families?["ipv4"]?["rungs"] as? [[String: Any]] ?? []
        let tls = rungs.first { $0["rung"] as? String == "tls" }
        #expect(tls?["status"] as? String == "ok", "\(rungs)")
    }

    @Test("A file of authorities that is none is a usage error that names the option and the file")
    func noAuthority() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "no certificate".write(toFile: "\(folder)/text", atomically: true, encoding: .utf8)
        let cases = [
            ("\(folder)/none", "cannot be read: No such file or directory"),
            (folder, "cannot be read: Is a directory"),
            ("\(folder)/text", "contains no PEM certificate"),
        ]
        for (file, message) in cases {
            for command in [["explain", "https://127.0.0.1:9/"], ["fetch", "https://127.0.0.1:9/"]] {
                let output = try await Program.run(
                    [BuiltProduct.path(of: "tidegate")] + command + ["--cacert", file])
                #expect(output.status == 2 && output.errors == "tidegate: --cacert: \(file) \(message)\n", "\(output)")
            }
        }
    }
}
