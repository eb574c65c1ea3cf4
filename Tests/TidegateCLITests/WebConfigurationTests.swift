import Foundation
import Testing
import TidegateTestKit

/// `--web.config.file` from the command line to the wire.
@Suite(.serialized, .enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct WebConfigurationTests {
    private static let secret = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
    private static let other = "$2y$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu"

    /// A folder for a daemon and its files.
    private final class Folder {
        let path = "/tmp/tidegate-web-\(UUID().uuidString.prefix(8))"
        let authority: TestAuthority
        var file: String { "\(self.path)/web.yml" }

        init() async throws {
            self.authority = try await TestAuthority()
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
            try self.put(try await self.authority.sign(["localhost"]))
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        func put(_ identity: TestAuthority.Identity) throws {
            try self.write(try String(contentsOfFile: identity.key, encoding: .utf8), to: "key.pem")
            try self.write(try String(contentsOfFile: identity.certificate, encoding: .utf8), to: "cert.pem")
        }

        func write(_ text: String, to name: String = "web.yml") throws {
            try text.write(toFile: "\(self.path)/\(name)", atomically: true, encoding: .utf8)
        }

        func write(hash: String) throws {
            try self.write(
                """
                tls_server_config: {cert_file: cert.pem, key_file: key.pem}
                basic_auth_users: {ann: \(hash)}

                """)
        }
    }

    private func serve(_ arguments: String...) async throws -> Program.Output {
        try await Program.run([BuiltProduct.path(of: "tidegate"), "serve"] + arguments)
    }

    @Test("The file is checked without being served, alone or with the other one")
    func check() async throws {
        let folder = try await Folder()
        try folder.write(hash: Self.secret)
        try folder.write("transfers: {}\n", to: "t.yml")
        let web = ["--web.config.file", folder.file]
        let good = try await self.serve("--config.check", web[0], web[1])
        #expect(good.status == 0 && good.output == "\(folder.file): ok\n", "\(good)")
        let both = try await self.serve("--config.check", web[0], web[1], "--config.file", "\(folder.path)/t.yml")
        #expect(both.status == 0 && both.output == "\(folder.path)/t.yml: ok\n\(folder.file): ok\n", "\(both)")
    }

    @Test("A bad file ends with 2 and names file, line and key, also next to another bad one")
    func bad() async throws {
        let folder = try await Folder()
        try folder.write("tls_server_config:\n  cert_file: cert.pem\n  key_file: none.pem\n")
        try folder.write("transfers: {speed: 1}\n", to: "t.yml")
        let sentence =
            "\(folder.file):3: tls_server_config.key_file: \(folder.path)/none.pem cannot be read: "
            + "No such file or directory\n"
        for check in [["--config.check"], []] {
            let arguments = [BuiltProduct.path(of: "tidegate"), "serve", "--web.config.file", folder.file] + check
            let one = try await Program.run(arguments)
            #expect(one.status == 2 && one.output.isEmpty && one.errors == "tidegate: \(sentence)", "\(one)")
            let two = try await Program.run(arguments + ["--config.file", "\(folder.path)/t.yml"])
            let first = "tidegate: \(folder.path)/t.yml:1: transfers.speed: unknown key\n"
            #expect(two.status == 2 && two.errors == first + sentence, "\(two)")
        }
        let missing = try await self.serve("--web.config.file", "/nowhere/web.yml")
        #expect(missing.status == 2)
        #expect(missing.errors == "tidegate: /nowhere/web.yml: cannot be read: No such file or directory\n")
    }

    @Test("A daemon answers users over TLS, and takes new certificates and passwords while it runs, but no bad file")
    func served() async throws {
        let folder = try await Folder()
        try folder.write(hash: Self.secret)
        let daemon = try Program([
            BuiltProduct.path(of: "tidegate"), "serve", "--web.config.file", folder.file, "--web.listen-address",
            "127.0.0.1:0", "--state.dir", folder.path, "--control.socket", "\(folder.path)/control.sock",
        ])
        defer { daemon.signal(SIGKILL) }
        try #require(await eventually { daemon.errorsSoFar.contains("msg=listening address=") })
        let address = try #require(daemon.errorsSoFar.firstMatch(of: /msg=listening address=127\.0\.0\.1:(\d+)/))
        #expect(await eventually { daemon.errorsSoFar.contains("msg=\"open https://127.0.0.1:\(address.1)/\"") })
        func ask(_ user: String, _ authority: TestAuthority? = nil) async throws -> String {
            let arguments = ["-u", user, "--cacert", (authority ?? folder.authority).certificate]
            return try await Program.run(
                ["curl", "-s", "--max-time", "30", "-o", "/dev/null", "-w", "%{http_code}"] + arguments + [
                    "https://localhost:\(address.1)/metrics"
                ]
            ).output
        }
        #expect(try await ask("ann:secret") == "200")
        #expect(try await ask("ann:other") == "401")
        try folder.write(hash: Self.other)
        #expect(try await ask("ann:secret") == "401")
        #expect(try await ask("ann:other") == "200")
        try folder.write(hash: "other")
        #expect(try await ask("ann:other") == "200")
        let complaint = "\(folder.file):2: basic_auth_users.ann: not a bcrypt hash"
        #expect(await eventually { daemon.errorsSoFar.contains(complaint) })
        try folder.write(hash: Self.secret)
        let next = try await TestAuthority()
        try folder.put(try await next.sign(["localhost"]))
        #expect(try await ask("ann:secret", next) == "200")
        #expect(try await ask("ann:secret") == "000")
        daemon.signal(SIGTERM)
        #expect(await daemon.finish().status == 0)
        #expect(daemon.errorsSoFar.components(separatedBy: complaint).count == 2)
    }
}
