internal import HTTPTypes
import Foundation
import Testing
import Tidegate

@testable import TidegateDaemon

/// The section `remote_write`.
@Suite struct RemoteWriteConfigurationTests {
    private static func parse(_ section: String) throws -> Configuration.RemoteWrite {
        try Configuration.parse("remote_write:\n\(section)", file: "t.yml").remoteWrite
    }

    @Test("A full section is read whole")
    func full() throws {
        let section = try Self.parse(
            """
              url: https://metrics.example/api/v1/push
              buffer: 128MiB
              interval: 30s
              labels: {instance: pump-7, site: "north sea"}
              headers: {X-Scope-OrgID: "4"}
              basic_auth: {username: u, password_file: /etc/tidegate/password}
              tls: {ca_file: /etc/ssl/own.pem}
            """)
        #expect(section.url == "https://metrics.example/api/v1/push")
        #expect(section.bound == 128 << 20 && section.interval == .seconds(30))
        #expect(section.labels.map(\.name) == ["instance", "site"])
        #expect(section.labels.map(\.value) == ["pump-7", "north sea"])
        #expect(try section.headers == [HTTPField("X-Scope-OrgID", "4")])
        #expect(section.user == "u" && section.passwordFile == "/etc/tidegate/password")
        #expect(section.tokenFile == nil && section.certificateFile == "/etc/ssl/own.pem")
    }

    @Test(
        "Without a URL nothing is sent", arguments: ["  url: null\n", "  {url: null, buffer: 64MiB, interval: 15s}\n"])
    func off(_ section: String) throws {
        #expect(try Self.parse(section).url == nil)
    }

    @Test(
        "A mistake is named by file, line and key",
        arguments: [
            ("  url: ftp://x/\n", "t.yml:2: remote_write.url: "),
            ("  urls: http://x/\n", "t.yml:2: remote_write.urls: "),
            ("  url: http://x/\n  buffer: much\n", "t.yml:3: remote_write.buffer: "),
            ("  buffer: 4k\n", "t.yml:2: remote_write.buffer: 4k is below the minimum of 1.0 MiB"),
            ("  interval: 10ms\n", "t.yml:2: remote_write.interval: 10ms is below the minimum of 1s"),
            ("  labels: {__name__: x}\n", "t.yml:2: remote_write.labels.__name__: "),
            ("  labels: {a-b: x}\n", "t.yml:2: remote_write.labels.a-b: "),
            ("  labels: [a]\n", "t.yml:2: remote_write.labels: "),
            ("  headers: {Content-Type: text/plain}\n", "t.yml:2: remote_write.headers.Content-Type: "),
            ("  headers: {\"a b\": c}\n", "t.yml:2: remote_write.headers.a b: "),
            ("  basic_auth: {username: u}\n", "t.yml:2: remote_write.basic_auth: "),
            ("  basic_auth:\n    username: u\n    password: p\n", "t.yml:4: remote_write.basic_auth.password: "),
            (
                "  basic_auth: {username: u, password_file: /p}\n  bearer_token_file: /t\n",
                "t.yml:3: remote_write.bearer_token_file: "
            ),
            (
                "  bearer_token_file: /t\n  headers: {authorization: x}\n",
                "t.yml:3: remote_write.headers.authorization: "
            ),
            ("  bearer_token_file: token\n", "t.yml:2: remote_write.bearer_token_file: "),
        ])
    func mistakes(_ section: String, _ start: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.parse(section) }
        let lines = error?.problems.map { "\($0)" } ?? []
        #expect(lines.contains { $0.hasPrefix(start) }, "\(lines)")
    }
}
