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
}
