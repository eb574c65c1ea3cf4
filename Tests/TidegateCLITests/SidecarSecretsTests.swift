import Foundation
import Testing
import TidegateTestKit

/// One secret in every place that may have one, and a search for it in every output.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl is not installed"), .timeLimit(.minutes(5)))
struct SidecarSecretsTests {
    private let server: LiveServer
    private let authority: TestAuthority
    private let encrypted: TestTLSServer
    private let identity: TestAuthority.Identity

    init() async throws {
        self.server = try LiveServer { request in
            if request.path.hasPrefix("/away") {
                return .respond(302, ["Location: http://u:hunter2@127.0.0.1:1/?x=hunter2"])
            }
            let isToken = request.path.hasPrefix("/token")
            return .respond(
                200, ["Set-Cookie: sid=hunter2", "X-Vault-Token: hunter2"],
                text: isToken ? #"{"access_token": "hunter2", "token_type": "Bearer"}"# : "hunter2")
        }
        self.authority = try await TestAuthority()
        self.identity = try await self.authority.sign(["localhost"])
        self.encrypted = try await TestTLSServer(self.identity)
    }

    private var url: String { "http://u:hunter2@127.0.0.1:\(self.server.port)" }

    // The secret, how it looks in Base64 behind 0, 1 and 2 other bytes, a password's hash, and a file's private key.
    private func leaks(in text: String) throws -> [String] {
        let key = try String(contentsOfFile: self.identity.key, encoding: .utf8)
            .split(separator: "\n").filter { $0.count > 20 && !$0.hasPrefix("-") }.map(String.init)
        let marks = ["hunter2", "aHVudGVy", "h1bnRlcj", "odW50ZXIy", "$2b$04$"]
        return (marks + key).filter { text.contains($0) }
    }

    private func daemon() async throws -> ConfiguredDaemon {
        func read(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
        let (certificate, key) = (try read(self.identity.certificate), try read(self.identity.key))
        func quoted(_ text: String) -> String { text.replacing("\n", with: "\\n") }
        let configuration = SecretConfiguration.text(self.url, encrypted: self.encrypted.port)
            .replacing("INLINE", with: "cert: \"\(quoted(certificate))\", key: \"\(quoted(key))\"")
        let broken = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n"
        return try await ConfiguredDaemon(
            configuration: configuration,
            files: [
                "word": "hunter2", "fields": "X-Key: hunter2\n", "ca.pem": try read(self.authority.certificate),
                "good.pem": certificate, "good.key": key, "broken.key": broken,
                "web.yml": "basic_auth_users: {u: \(SecretConfiguration.hash)}\n",
            ], arguments: ["--web.config.file", "FOLDER/web.yml"],
            environment: ["http_proxy": "\(self.url)/", "no_proxy": ""])
    }

    @Test("No secret of the configuration, a submission or a probe is in any output")
    func outputs() async throws {
        defer { self.server.stop() }
        let daemon = try await self.daemon()
        let port = try #require(await eventualValue { daemon.port })
        func get(_ path: String, _ arguments: String...) async throws -> String {
            let options = ["-s", "-u", "u:hunter2"] + arguments
            return try await Program.run(["curl"] + options + ["http://127.0.0.1:\(port)/\(path)"]).output
        }
        var outputs = try await self.submit(to: daemon)
        let target = "\(self.url)/away?q=hunter2".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        for module in SecretConfiguration.modules {
            let isStream = ["t", "k", "g"].contains(module)
            let to = isStream ? "u:hunter2@127.0.0.1%3A\(self.server.port)" : target
            outputs["probe \(module)"] = try await get("probe?module=\(module)&target=\(to)&debug=true")
        }
        outputs["tls probe"] = try await get("probe?module=k&target=localhost%3A\(self.encrypted.port)&debug=true")
        for path in ["", "?span=week", "config", "metrics", "logs?target=\(target)"]
            + ["status", "targets", "tasks", "probes", "connections"].map({ "api/v1/\($0)" })
        {
            outputs[path] = try await get(path)
        }
        outputs["refused"] = try await get("metrics", "-u", "u:hunter2hunter2")
        outputs["events"] = try await get("api/v1/events?since=0", "-m", "1")
        try daemon.write(SecretConfiguration.mistakes, to: "c.yml")
        outputs["reload"] = try await get("-/reload", "-X", "POST")
        outputs["log"] = await daemon.stop().errors
        for (name, text) in outputs {
            #expect(text.count > 12, "\(name) has nothing in it: \(text)")
            let leaks = try self.leaks(in: text)
            #expect(leaks == [], "\(name): \(text)")
        }
        for (name, text) in outputs where name.hasSuffix("curl") || name.hasSuffix("har") || name == "log" {
            #expect(!text.contains("h4Kd02LmQp93ZtYw7Rb1"), "\(name)")
        }
        for name in ["probe m", "probe h", "config"] { #expect(outputs[name]?.contains("<secret>") == true, "\(name)") }
    }

    @Test(
        "A bug report has everything that was promised, and no secret",
        .enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"))
    func support() async throws {
        defer { self.server.stop() }
        let (daemon, namespace) = (try await self.daemon(), try NetworkNamespace())
        _ = try await self.submit(to: daemon)
        let archive = "\(daemon.path)/report.tar.gz"
        let command = ["support", "-o", archive, "--control.socket", "\(daemon.path)/sock"]
        func run() async throws -> Program.Output {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            return try await Program.run(
                namespace.inside([BuiltProduct.path(of: "tidegate")] + command),
                environment: ["PATH": "\(daemon.path):\(path)"])
        }
        // In place of a host's journal.
        try daemon.write("#!/bin/sh\ncat FOLDER/log\n", to: "journalctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: "\(daemon.path)/journalctl")
        try daemon.write(daemon.log, to: "log")
        let report = try await run()
        #expect(report.status == 0 && report.errors.isEmpty, "\(report)")
        #expect(try FileManager.default.attributesOfItem(atPath: archive)[.posixPermissions] as? Int == 0o600)
        let names = try await Program.expect(["tar", "--list", "--file", archive]).split(separator: "\n")
            .compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) }
        let promised = [
            "addresses.txt", "connections.json", "events.jsonl", "explain.txt", "incidents.json", "kernel.txt",
            "links.txt", "log.txt", "metrics.txt", "probes.json", "resolver.txt", "routes.txt", "rules.txt",
            "status.json", "status.txt",
            "tasks.json", "tidegate.yml", "version.txt", "web.yml",
        ]
        #expect(names.sorted() == promised)
        // The list comes first.
        let listed = report.output.split(separator: "\n").dropLast().map { String($0.prefix { $0 != " " }) }
        #expect(listed == promised)
        for name in names {
            let text = try await Program.expect(["tar", "-xOf", archive, "--wildcards", "*/\(name)"])
            #expect(try self.leaks(in: text) == [], "\(name): \(text)")
            #expect(!text.contains("s3cretpath"), "\(name): \(text)")
            if name.hasSuffix(".yml") { #expect(text.contains("<secret>"), "\(name): \(text)") }
            if name == "tidegate.yml" { #expect(text.contains("\n  on_incident: <set>\n"), "\(text)") }
            if name == "log.txt" { #expect(text.contains("url=http://127.0.0.1:\(self.server.port)"), "\(text)") }
            if name == "metrics.txt" { #expect(text.contains("\ntidegate_build_info{")) }
            if name == "events.jsonl" { #expect(text.contains(#""event":"task.completed""#), "\(text)") }
        }
        for _ in ["an archive", "a link that leads nowhere"] {
            let again = try await run()
            #expect(again.status == 1)
            #expect(again.errors == "tidegate: \(archive) exists; choose another file with --output\n")
            try FileManager.default.removeItem(atPath: archive)
            try FileManager.default.createSymbolicLink(atPath: archive, withDestinationPath: "\(daemon.path)/nowhere")
        }
        _ = await daemon.stop()
    }

    // What the program prints of tasks whose requests have secrets everywhere.
    private func submit(to daemon: ConfiguredDaemon) async throws -> [String: String] {
        let local = "https://localhost:\(self.encrypted.port)/?token=hunter2"
        var outputs: [String: String] = [:]
        for (key, url, options) in [
            ("k", "\(self.url)/h4Kd02LmQp93ZtYw7Rb1/s3cretpath?token=hunter2", ["--data", "hunter2", "--cookies"]),
            ("f", "\(self.url)/f?token=hunter2", ["-F", "token=hunter2"]),
            ("p", "http://tide.invalid/?token=hunter2", ["--proxy", "http://u:hunter2@127.0.0.1:9"]), ("c", local, []),
        ] {
            let fields = ["-H", "X-Vault-Namespace: hunter2", "-H", "Cookie: a=hunter2", "--retry", "0", "--key", key]
            let task = try await daemon.tasks(["submit", url] + fields + options)
            #expect(task.status == 0, "\(task)")
            let wait = try await daemon.tasks(["wait", key])
            outputs["\(key) wait"] = wait.output + wait.errors + String(repeating: " ", count: 20)
            for (name, options) in [
                ("curl", ["--as", "curl"]), ("har", ["--as", "har"]), ("show", []), ("json", ["--json"]),
            ] {
                outputs["\(key) \(name)"] = try await daemon.tasks(["show", key] + options).output
            }
        }
        outputs["list"] = try await daemon.tasks(["list"]).output
        outputs["list as JSON"] = try await daemon.tasks(["list", "--json"]).output
        #expect(outputs["c show"]?.contains("broken.key") == true, "\(outputs["c show"] ?? "")")
        return outputs
    }
}

/// A configuration that has the secret wherever a key may have one.
private enum SecretConfiguration {
    static let modules = ["m", "o", "h", "b", "f", "e", "s", "c", "t", "k", "w", "d", "i", "g"]

    /// The secret's, by bcrypt.
    static let hash = "$2b$04$abcdefghijklmnopqrstuuV3duMsC0HpUex6N9qapiuOHHWkwRXVm"

    static func text(_ url: String, encrypted port: UInt16) -> String {
        """
        modules:
          m: {prober: http, http: {method: POST, body: hunter2, headers: {X-Vault-Token: hunter2},
            basic_auth: {username: u, password: hunter2}}}
          o: {prober: http, http: {proxy_url: "\(url)/", proxy_connect_header: {X-Auth: [hunter2]}, oauth2: {client_id: i,
            client_secret: hunter2, token_url: "\(url)/t?x=hunter2", endpoint_params: {a: hunter2}}}}
          h: {prober: http, http: {authorization: {type: Key, credentials: hunter2},
            http_headers: {X-Api-Key: {values: [hunter2]}, X-B: {secrets: [hunter2]}, X-C: {files: [FOLDER/word]}}}}
          b: {prober: http, http: {method: POST, body_file: FOLDER/word, bearer_token_file: FOLDER/word}}
          f: {prober: http, http: {basic_auth: {username: u, password_file: FOLDER/word}}}
          e: {prober: http, http: {proxy_from_environment: true, bearer_token: hunter2}}
          s: {prober: http, http: {oauth2: {client_id: i, client_secret_file: FOLDER/word, proxy_url: "\(url)/",
            token_url: "\(url)/token"}}}
          c: {prober: http, http: {tls_config: {INLINE}}}
          t: {prober: tcp, tcp: {query_response: [{send: hunter2}]}}
          k: {prober: tcp, tcp: {tls: true, tls_config: {ca_file: FOLDER/ca.pem, cert_file: FOLDER/good.pem,
            key_file: FOLDER/broken.key}}}
          w: {prober: websocket, websocket: {headers: {Cookie: {secrets: [hunter2]}}, query_response: [{send: hunter2}],
            http_config: {basic_auth: {username: u, password: hunter2}}}}
          d: {prober: dns, dns: {query_name: a.test}}
          i: {prober: icmp}
          g: {prober: grpc, grpc: {metadata: {x-a: hunter2}}}
        probes:
          - {name: p, module: m, target: "\(url)/away?q=hunter2", every: 1s}
          - {name: q, module: b, target: "\(url.dropFirst(7))/s3cretpath?q=hunter2", every: 1s}
        reachability: {targets: [{name: r, url: "\(url)/s3cretpath/r?x=hunter2"}]}
        incidents: {on_incident: [/bin/false, hunter2, "\(url)/s3cretpath"]}
        remote_write: {url: "\(url)/s3cretpath/w?x=hunter2", headers: {X-Scope-Token: hunter2}, bearer_token_file: FOLDER/word,
          interval: 1s}
        tasks:
          - {name: a, url: "\(url)/s3cretpath?token=hunter2", every: 1s, headers: {X-Key: hunter2}, headers_file: FOLDER/fields,
            cookies: true}
          - {name: b, url: "\(url)/x?token=hunter2", every: 1s, form: {token: hunter2, file: "@FOLDER/word"}}
          - {name: e, url: "https://localhost:\(port)/?token=hunter2", every: 1s, body_file: FOLDER/word}
        transfers:
          proxy: "http://u:hunter2@127.0.0.1:9"
          no_proxy: ["127.0.0.1", localhost]
          tls: {ca_file: FOLDER/ca.pem, cert_file: FOLDER/good.pem, key_file: FOLDER/good.key, hosts: {localhost:
            {ca_file: FOLDER/ca.pem, cert_file: FOLDER/good.pem, key_file: FOLDER/broken.key}}}

        """
    }

    /// Mistakes in values that contain a secret.
    static let mistakes = """
        modules:
          m: {prober: http, http: {proxy_url: "http://u:hunter2@h:99999/"}}
          n: {prober: http, http: {oauth2: {client_id: i, client_secret: [hunter2], token_url: "u:hunter2@@"}}}
          y: {prober: http, http: {headers: {X-Token: "hunter2\\n"}, http_headers: {X-A: {secrets: ["hunter2\\n"]}}}}
        probes: [{name: p, module: m, target: "http://u:hunter2@h:99999/", every: 1s}]
        reachability: {targets: [{name: r, url: "ftp://u:hunter2@h/"}]}
        remote_write: {url: "ftp://u:hunter2@h/", headers: {X-A: "hunter2\\n"}}
        tasks: [{name: a, url: "http://u:hunter2@h:99999/", every: 1s, headers: {X-A: "hunter2\\n"}}]
        transfers: {proxy: "ftp://u:hunter2@h/"}

        """
}
