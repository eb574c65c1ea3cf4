import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateCLI

/// Files of the command line that are pipes.
@Suite(.timeLimit(.minutes(5)))
struct PipedFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

    init() throws { try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true) }

    private func pipe() -> String {
        let path = "\(self.folder)/\(UUID().uuidString)"
        #expect(mkfifo(path, 0o600) == 0)
        return path
    }

    @Test("What a shell's <() gives is read, although two look at it: header fields, the body and authorities")
    func substituted() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let script = """
            exec "$0" fetch -q --discard -X POST -H @<(sleep 0.2; echo 'X-Key: k') --upload-file <(echo body) "$1"
            """
        let output = try await Program.run(["bash", "-c", script, BuiltProduct.path(of: "tidegate"), server.url("/")])
        #expect(output.status == 0, "\(output)")
        #expect(server.requests.first?.field("x-key") == "k")
        #expect(server.requests.first?.body == Array("body\n".utf8))
        let cacert = try await Program.run([
            "bash", "-c", "exec \"$0\" fetch -q --discard --cacert <(echo x) \"$1\"",
            BuiltProduct.path(of: "tidegate"), server.url("/"),
        ])
        #expect(cacert.status == 2 && cacert.errors.contains("contains no PEM certificate"), "\(cacert)")
    }

    @Test("A pipe without a writer is given up")
    func silent() {
        let path = self.pipe()
        #expect(throws: TextError("is a pipe that did not end within 100ms")) {
            try PipedFile.contents(of: path, within: .milliseconds(100))
        }
    }

    @Test("A pipe that does not end is given up after 1 MiB")
    func endless() throws {
        let path = self.pipe()
        let writer = try Program(["bash", "-c", "exec cat /dev/zero > \"$0\"", path])
        defer { writer.signal(SIGKILL) }
        #expect(throws: TextError("is a pipe with more than 1.0 MiB")) {
            try PipedFile.contents(of: path, within: .seconds(60))
        }
    }

    @Test("A list of URLs from a pipe without a writer does not keep Ctrl-C out")
    func list() async throws {
        let fetch = try Program([BuiltProduct.path(of: "tidegate"), "fetch", "--discard", "--input-file", self.pipe()])
        defer { fetch.signal(SIGKILL) }
        // The signal counts once the list is being read.
        let isReading = await eventually {
            let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(fetch.id)/fd")) ?? []
            return open.contains {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(fetch.id)/fd/\($0)"))?
                    .hasPrefix(self.folder) == true
            }
        }
        #expect(isReading)
        fetch.signal(SIGINT)
        #expect(await fetch.finish().status == 130)
    }

    @Test("Authorities of the environment replace the system's, and names of the system's own files change nothing")
    func authorities() throws {
        func file(_ environment: [String: String]) -> String? { AuthorityOptions.file(in: environment) }
        let system = ["SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "SSL_CERT_DIR": "/etc/ssl/certs"]
        #expect(file([:]) == nil && file(["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""]) == nil && file(system) == nil)
        #expect(file(["SSL_CERT_FILE": "/no/such"]) == "/no/such")
        #expect(file(["SSL_CERT_DIR": self.folder]) == self.folder, "without certificates")
        func certificate(_ text: String) -> String {
            "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
        }
        for (name, text) in [("a.pem", certificate("YQ")), ("b.pem", certificate("Yg")), ("README", "no certificate")] {
            try text.write(toFile: "\(self.folder)/\(name)", atomically: true, encoding: .utf8)
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(self.folder)/0a1b2c3d.0", withDestinationPath: "\(self.folder)/a.pem")
        let copy = try #require(file(["SSL_CERT_DIR": "/no/such:\(self.folder)"]))
        let both = [certificate("YQ"), certificate("Yg")].joined(separator: "\n")
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == both)
        let own = "\(self.folder)/a.pem"
        #expect(file(["SSL_CERT_FILE": own]) == own)
        let added = try #require(file(["SSL_CERT_FILE": own, "SSL_CERT_DIR": "\(self.folder)/none"]))
        #expect(try String(contentsOfFile: added, encoding: .utf8) == certificate("YQ"))
    }

    @Test(
        "Servers are verified by the authorities of the environment, or of a pipe",
        .enabled(if: TestAuthority.isAvailable))
    func verification() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["localhost"]))
        let fetch = [BuiltProduct.path(of: "tidegate"), "fetch", "-q", "--discard", "--retry", "0"]
        for (variable, value, status) in [
            ("SSL_CERT_FILE", authority.certificate, 0), ("SSL_CERT_FILE", "/no/such", 1), ("SSL_CERT_DIR", "", 1),
        ] as [(String, String, Int32)] {
            let environment = ["env", "-u", "SSL_CERT_FILE", "-u", "SSL_CERT_DIR", "\(variable)=\(value)"]
            let output = try await Program.run(environment + fetch + ["https://localhost:\(server.port)/"])
            #expect(output.status == status, "\(output)")
        }
        let pipe = "\"$0\" fetch -q --discard --cacert <(cat '\(authority.certificate)') \"$1\""
        let piped = try await Program.run(["bash", "-c", pipe, fetch[0], "https://localhost:\(server.port)/"])
        #expect(piped.status == 0, "\(piped)")
    }

    @Test("The sidecar's files are not pipes")
    func configuration() async throws {
        let path = self.pipe()
        for option in ["--config.file", "--web.config.file"] {
            let output = try await Program.run([
                BuiltProduct.path(of: "tidegate"), "serve", "--config.check", option, path,
            ])
            #expect(output.status == 2, "\(output)")
            #expect(output.errors.contains("\(path): is a pipe; a regular file is needed"), "\(output)")
        }
    }
}
