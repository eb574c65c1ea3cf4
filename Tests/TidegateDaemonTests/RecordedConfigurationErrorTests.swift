import Foundation
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateDaemon

/// Mistakes in a configuration file, each with the whole error.
@Suite struct RecordedConfigurationErrorTests {
    private static let files = [
        "reachabilty: {}", "transfers: fast", "transfers: {max_connections: 0}", "transfers: {retry: {base: 5}}",
        "tasks: [{name: a, url: \"http://a/\", every: 1m, body_file: /b, method: GET}]",
        "tasks: [{name: a, url: \"http://a/\", every: 1m, body_file: /b, download: /d}]",
        "tasks: [{name: a, url: \"http://a/\", every: 1m, mode: \"0640\"}]",
        "tasks: [{name: a, url: \"http://a/\", every: 1m}, {name: a, url: \"http://b/\", every: 1m}]",
        "modules: {a: {prober: http, http: {oauth2: {client_id: a, client_secret: b}}}}",
        "modules: {a: {prober: http, http: {oauth2: {token_url: \"http://a/\", client_secret: b, client_secret_file: /c}}}}",
        "modules: {a: {prober: http, http: {compression: zip}}}",
        "modules: {a: {prober: http, http: {body_size_limit: 9999999999TB}}}",
        "modules: {a: {prober: http, http: {fail_if_header_matches: [{header: A}]}}}",
        "modules: {a: {prober: http, http: {fail_if_header_matches: [{header: A, regexp: \"(\"}]}}}",
        "metrics: {host_label: top, hosts: [a]}", "metrics: {host_label: allowlist}",
        "metrics: {host_label: allowlist, hosts: [a, b], max_hosts: 1}",
        "observation: {udp: true}", "control: {directories: [a]}",
    ]

    private static let remoteWrite = [
        "url: ftp://x/", "urls: http://x/", "{url: http://x/, buffer: much}", "buffer: 4k", "interval: 10ms",
        "labels: {__name__: x}", "labels: {a-b: x}", "labels: [a]", "headers: {Content-Type: text/plain}",
        "headers: {\"a b\": c}", "basic_auth: {username: u}", "basic_auth: {username: u, password: p}",
        "{basic_auth: {username: u, password_file: /p}, bearer_token_file: /t}",
        "{bearer_token_file: /t, headers: {authorization: x}}", "bearer_token_file: token",
    ].map { "remote_write: " + ($0.hasPrefix("{") ? $0 : "{\($0)}") }

    @Test("Every mistake has the recorded error, which names file, line and key")
    func recorded() throws {
        let answers = try (Self.files + Self.remoteWrite).map { text in
            let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
            return (evidence: text, answer: error.problems.map(\.description).joined(separator: " | "))
        }
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/errors.txt")
        #expect(try RecordedAnswers.differences(answers, from: file) == [])
    }
}
