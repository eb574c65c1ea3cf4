import Foundation
import Testing
import TidegateTestKit

@testable import TidegateDaemon

/// The web.yml of docs/security.md is what the tool that it names accepts.
@Suite struct WebFileExampleTests {
    private static let promtool = "/usr/bin/promtool"

    @Test(
        "promtool accepts the web.yml of docs/security.md",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: promtool) && TestAuthority.isAvailable,
            "promtool (Debian package prometheus) or openssl is not installed"))
    func example() async throws {
        let page = Dashboard.folder.deletingLastPathComponent().appendingPathComponent("docs/security.md")
        let section = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "(web.yml)")
        let block = try #require(section.last?.components(separatedBy: "```yaml\n").dropFirst().first)
        let text = try #require(block.components(separatedBy: "\n```").first)
        #expect(text.contains("basic_auth_users"))
        let folder = try await WebFolder()
        let names = [("cert.pem", "server.pem"), ("key.pem", "server.key"), ("ca.pem", "clients.pem")]
        for (from, to) in names {
            try FileManager.default.copyItem(atPath: "\(folder.path)/\(from)", toPath: "\(folder.path)/\(to)")
        }
        try folder.write(text)
        let output = try await Program.run([Self.promtool, "check", "web-config", folder.file])
        #expect(output.status == 0, "\(output.output) \(output.errors)")
        #expect(folder.look().warnings.isEmpty)
    }
}
