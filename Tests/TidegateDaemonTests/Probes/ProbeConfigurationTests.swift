import HTTPTypes
import Testing
import Tidegate
import TidegateCore
import TidegateProbes
import TidegateCEL

@testable import TidegateDaemon

/// `modules` and `probe_targets`: blackbox_exporter's modules as they stand in its file.
@Suite struct ProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        let file = "modules:\n  m:\n" + yaml.split(separator: "\n").map { "    \($0)\n" }.joined()
        return try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
    }

    @Test("Every key of the prober http has its place")
    func http() throws {
        let module = try Self.module(
            """
            prober: http
            timeout: 5s
            http:
              method: POST
              headers: {Accept-Encoding: gzip, Host: a.example}
              body: ping
              valid_status_codes: [200, 404]
              valid_http_versions: ["HTTP/1.1", "HTTP/2.0"]
              preferred_ip_protocol: ip4
              ip_protocol_fallback: false
              follow_redirects: false
              enable_http2: false
              fail_if_ssl: true
              fail_if_not_ssl: true
              fail_if_body_matches_regexp: ["a+"]
              fail_if_body_not_matches_regexp: ["b"]
              fail_if_header_matches: [{header: Via, regexp: c, allow_missing: true}]
              fail_if_header_not_matches: [{header: Via, regexp: d}]
              compression: gzip
              body_size_limit: 10MB
              skip_resolve_phase_with_proxy: true
              basic_auth: {username: u, password: p}
              tls_config:
                ca_file: /ca.pem
                cert_file: /cert.pem
                key_file: /key.pem
                server_name: b.example
                insecure_skip_verify: true
                min_version: TLS12
                max_version: TLS12
            """)
        #expect(module.timeout == .seconds(5))
        let http = try #require(module.http)
        #expect(http.method == "POST" && http.headers.map(\.value) == ["gzip", "a.example"])
        #expect(http.body == .text("ping") && http.validStatuses == [200, 404])
        #expect(http.validVersions == ["HTTP/1.1", "HTTP/2.0"])
        #expect(http.family == FamilyPreference(.ipv4, allowsFallback: false))
        #expect(!http.followsRedirects && !http.allowsHTTP2 && http.failsIfTLS && http.failsIfNotTLS)
        #expect(
            http.failsIfBodyMatches.map(\.pattern) == ["a+"] && http.failsIfBodyDoesNotMatch.map(\.pattern) == ["b"])
        #expect(http.failsIfHeaderMatches.map(\.allowsMissing) == [true])
        #expect(http.failsIfHeaderDoesNotMatch.map(\.allowsMissing) == [false])
        #expect(http.coding == .gzip && http.maxBodyBytes == 10 << 20 && http.skipsResolveWithProxy)
        #expect(http.authorization == .basic(user: .text("u"), password: .text("p")))
        #expect(
            http.tls.caFile == "/ca.pem" && http.tls.certificateFile == "/cert.pem" && http.tls.keyFile == "/key.pem")
        #expect(http.tls.serverName == "b.example" && http.tls.isInsecure)
        #expect(http.tls.minVersion == .v1_2 && http.tls.maxVersion == .v1_2)
    }

    @Test("A proxy and its exceptions are read")
    func proxy() throws {
        let module = try Self.module(
            """
            prober: http
            http:
              proxy_url: http://u:p@proxy.example:3128
              no_proxy: "a.example, 10.0.0.0/8"
            """)
        #expect(
            module.http?.proxy == ProxyPolicy("http://u:p@proxy.example:3128", exceptions: ["a.example", "10.0.0.0/8"]))
    }

    @Test("Tokens and secret fields of Prometheus' clients are read, and left out of what is shown")
    func client() throws {
        let module = try Self.module(
            """
            prober: http
            http:
              accept_any_response: true
              proxy_connect_header: {Proxy-Authorization: [Bearer s3cret]}
              http_headers:
                X-A: {values: [one], secrets: [s3cret], files: [/key]}
              oauth2:
                client_id: me
                client_secret: s3cret
                token_url: https://id.example/token
                scopes: [read]
                endpoint_params: {audience: me}
            """)
        let http = try #require(module.http)
        #expect(
            http.secretHeaders
                == [.text("one"), .text("s3cret"), .file("/key")].map { SecretHeader(name: "X-A", value: $0) })
        #expect(http.acceptsAnyStatus)
        #expect(http.proxyHeaders == [SecretHeader(name: "Proxy-Authorization", value: .text("Bearer s3cret"))])
        let oauth2 = try #require(http.oauth2)
        #expect(oauth2.clientID == "me" && oauth2.clientSecret == .text("s3cret") && oauth2.scopes == ["read"])
        #expect(oauth2.tokenURL?.text == "https://id.example/token" && oauth2.parameters == ["audience": "me"])
        #expect(!module.text.contains("s3cret") && module.text.contains("client_secret: <secret>"))
    }

    @Test("Without keys a module is blackbox_exporter's default")
    func defaults() throws {
        let module = try Self.module("prober: http")
        #expect(module.http == HTTPProbeOptions() && module.timeout == nil)
        #expect(try Self.module("prober: http\nhttp: {no_follow_redirects: true}").http?.followsRedirects == false)
        let unlimited = try #require(try Self.module("prober: http\nhttp: {body_size_limit: 0}").http)
        #expect(unlimited.maxBodyBytes == nil)
        #expect(
            try Self.module("prober: http\nhttp: {bearer_token: t}").http?.authorization
                == .token(scheme: "Bearer", .text("t")))
    }

    @Test("Templates that leave a value empty leave the default, as in blackbox_exporter")
    func emptyValues() throws {
        let module = try Self.module(
            """
            prober: http
            timeout: ~
            http:
              method: ""
              proxy_url: ""
              proxy_from_environment: no
              compression: ""
              body_file: ""
              headers: {X-Empty: , X-Word: yes}
              bearer_token: ""
              bearer_token_file: ""
              basic_auth: {username: u, password: p, password_file: ""}
              tls_config: {ca_file: "", cert_file: "", key_file: ""}
            """)
        var expected = HTTPProbeOptions()
        expected.headers = [try HTTPField("X-Empty", ""), try HTTPField("X-Word", "yes")]
        expected.authorization = .basic(user: .text("u"), password: .text("p"))
        #expect(module.http == expected && module.timeout == nil)
        #expect(
            try Self.module("prober: http\nhttp: {authorization: {type: \"\", credentials: t}}").http?.authorization
                == .token(scheme: "Bearer", .text("t")))
    }

    @Test("Words are taken as Go's decoder takes them: families, booleans and methods in any case, and merge keys")
    func spellings() throws {
        for (word, family) in [("ipv4", AddressFamily.ipv4), ("IPv4", .ipv4), ("IP4", .ipv4), ("ip6", .ipv6)] {
            let module = try Self.module("prober: icmp\nicmp: {preferred_ip_protocol: \(word)}")
            #expect(module.icmp?.family.family == family, "\(word)")
        }
        let http = try Self.module("prober: http\nhttp: {fail_if_not_ssl: True, enable_http2: off, method: get}").http
        #expect(http?.failsIfNotTLS == true && http?.allowsHTTP2 == false && http?.method == "get")
        let modules = try Configuration.parse(
            """
            modules:
              a: &a
                prober: http
                timeout: 3s
                http: &h {method: HEAD, fail_if_ssl: true}
              m:
                <<: *a
                http: {<<: *h, fail_if_ssl: no, valid_status_codes: [404]}
            """, file: "b.yml"
        ).probes.modules
        let merged = try #require(modules["m"])
        #expect(merged.timeout == .seconds(3) && merged.http?.method == "HEAD")
        #expect(merged.http?.validStatuses == [404] && merged.http?.failsIfTLS == false)
        #expect(!merged.text.contains("<<") && merged.text.contains("timeout: 3s"))
    }

    @Test("A module keeps the options of its own prober, wherever they are, and the blocks of others are validated")
    func foreignBlocks() throws {
        let module = try Self.module("http: {method: POST}\nicmp: {ttl: 5}\ntcp: {tls: true}\nprober: icmp")
        #expect(module.icmp?.hopLimit == 5)
        #expect(module.text.contains("http:\n  method: POST\n"))
        #expect(try Self.module("http: {method: POST}\nprober: icmp").icmp == ICMPProbeOptions())
        let error = #expect(throws: ConfigurationError.self) {
            try Self.module("prober: icmp\nicmp: {ttl: 256}\nhttp: {method: a b}\ndns: {query_name: a..b}")
        }
        #expect(error?.problems.map(\.line) == [4, 5, 6], "\(error as Any)")
    }

    @Test("Secrets are left out of what is shown")
    func secrets() throws {
        let text = try Self.module(
            """
            prober: http
            http:
              basic_auth: {username: u, password: s3cret}
              headers: {Accept: "a b", X-Key: s3cret, Host: h}
              proxy_url: http://u:s3cret@proxy.example:3128
              body: s3cret
            tcp:
              query_response: [{send: s3cret}]
            websocket:
              http_config:
                oauth2:
                  client_id: i
                  client_secret: s3cret
                  token_url: https://u:s3cret@h/t?x=s3cret
                  endpoint_params: {a: s3cret}
            """
        ).text
        #expect(
            text == """
                prober: http
                http:
                  basic_auth:
                    username: u
                    password: <secret>
                  headers:
                    Accept: "a b"
                    "X-Key": <secret>
                    Host: h
                  proxy_url: http://proxy.example:3128
                  body: <secret>
                tcp:
                  query_response:
                    - send: <secret>
                websocket:
                  http_config:
                    oauth2:
                      client_id: i
                      client_secret: <secret>
                      token_url: "https://h/t?x=REDACTED"
                      endpoint_params: <secret>

                """)
    }

    @Test(
        "A mistake is reported by line and key",
        arguments: [
            ("{}", "b.yml:1: modules.m: missing key \"prober\""),
            ("{prober: curl}", "b.yml:1: modules.m.prober: unknown prober \"curl\""),
            (
                "{prober: tcp, tcp: {query_response: [{expect: \"(\"}]}}",
                "b.yml:1: modules.m.tcp.query_response[0].expect: \"(\" is not a regular expression: missing ): ("
            ),
            (
                "{prober: unix, unix: {tls: true}}",
                "b.yml:1: modules.m.unix: TLS needs tls_config.server_name or insecure_skip_verify: a path is not a name"
            ),
            ("{prober: http, htp: {}}", "b.yml:1: modules.m.htp: unknown key (did you mean \"http\"?)"),
            (
                "{prober: http, timeout: 5}",
                "b.yml:1: modules.m.timeout: \"5\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
            ),
            (
                "{prober: http, http: {fail_if_body_matches_regexp: [\":[\"]}}",
                "b.yml:1: modules.m.http.fail_if_body_matches_regexp[0]: \":[\" is not a regular expression: "
                    + "missing ]: ["
            ),
            (
                "{prober: http, http: {fail_if_header_matches: [{regexp: a}]}}",
                "b.yml:1: modules.m.http.fail_if_header_matches[0]: missing key \"header\""
            ),
            (
                "{prober: http, http: {fail_if_header_matches: [{header: a}]}}",
                "b.yml:1: modules.m.http.fail_if_header_matches[0]: missing key \"regexp\""
            ),
            (
                "{prober: http, http: {fail_if_header_matches: [{header: a, regexp: \"(\"}]}}",
                "b.yml:1: modules.m.http.fail_if_header_matches[0]: regexp: \"(\" is not a regular expression: "
                    + "missing ): ("
            ),
            (
                "{prober: http, http: {body: a, body_file: /b}}",
                "b.yml:1: modules.m.http: body and body_file are mutually exclusive"
            ),
            (
                "{prober: http, http: {bearer_token: a, basic_auth: {username: u}}}",
                "b.yml:1: modules.m.http: basic_auth and bearer_token are mutually exclusive"
            ),
            (
                "{prober: http, http: {compression: gzip, headers: {Accept-Encoding: \"br, gzip;q=0\"}}}",
                "b.yml:1: modules.m.http: Accept-Encoding \"br, gzip;q=0\" does not accept the compression gzip"
            ),
            (
                "{prober: http, http: {compression: zip}}",
                "b.yml:1: modules.m.http.compression: \"zip\" is not one of gzip, deflate, br, identity"
            ),
            (
                "{prober: http, http: {preferred_ip_protocol: ipv6}}",
                "b.yml:1: modules.m.http.preferred_ip_protocol: \"ipv6\" is not ip4 or ip6"
            ),
            (
                "{prober: http, http: {body_size_limit: many}}",
                "b.yml:1: modules.m.http.body_size_limit: \"many\" is not a size such as 10MB"
            ),
            (
                "{prober: http, http: {tls_config: {min_version: TLS13, max_version: TLS12}}}",
                "b.yml:1: modules.m.http.tls_config: min_version is above max_version"
            ),
            (
                "{prober: http, http: {tls_config: {cert_file: /a}}}",
                "b.yml:1: modules.m.http.tls_config: cert or cert_file has to be given together with key or key_file"
            ),
            (
                "{prober: http, http: {fail_if_body_json_matches_cel: \"body.up =\"}}",
                "b.yml:1: modules.m.http.fail_if_body_json_matches_cel: "
                    + "\"body.up =\" is not a CEL expression: \"=\" is not part of an expression at column 9"
            ),
            (
                "{prober: http, http: {enable_http3: true}}",
                "b.yml:1: modules.m.http.enable_http3: not available in this version"
            ),
            (
                "{prober: http, http: {authorization: {type: Basic, credentials: x}}}",
                "b.yml:1: modules.m.http.authorization.type: authorization type \"basic\" has to be written as basic_auth"
            ),
        ])
    func mistakes(_ module: String, _ message: String) {
        do throws(ConfigurationError) {
            _ = try Configuration.parse("modules: {m: \(module)}", file: "b.yml")
            Issue.record("accepted")
        } catch {
            #expect(error.description == message)
        }
    }

    @Test("probe_credentials has hosts for each module, and names the line of what is wrong")
    func credentials() throws {
        let modules = "modules: {m: {prober: http}}\n"
        let file = modules + "probe_credentials: {m: [10.0.0.0/8, \"*.Example.com\"]}"
        let hosts = try Configuration.parse(file, file: "b.yml").probes.targets.credentials
        #expect(hosts == ["m": [.network(try IPPrefix(parsing: "10.0.0.0/8")), .host("*.example.com")]])
        for (value, message) in [
            ("{n: [a]}", "b.yml:2: probe_credentials.n: \"modules\" has no module \"n\""),
            ("{m: a}", "b.yml:2: probe_credentials.m: expected a list, found \"a\""),
            ("{m: [\"a b\"]}", "b.yml:2: probe_credentials.m[0]: \"a b\" is neither a network nor a host name"),
            ("[m]", "b.yml:2: probe_credentials: expected a mapping, found a list"),
        ] {
            let error = #expect(throws: ConfigurationError.self) {
                try Configuration.parse(modules + "probe_credentials: \(value)", file: "b.yml")
            }
            #expect(error?.problems.map(\.description) == [message])
        }
    }

    @Test("Targets are networks, addresses and names; link-local addresses are denied unless the file says otherwise")
    func targets() throws {
        let standard = try Configuration.parse("modules: {}", file: "b.yml").probes.targets
        #expect(standard == ProbeTargetPolicy())
        let file = "probe_targets: {allow: [10.0.0.0/8, \"*.Example.com.\", \"2001:db8::1\"], deny: []}"
        let targets = try Configuration.parse(file, file: "b.yml").probes.targets
        #expect(targets.allow.map(\.description) == ["10.0.0.0/8", "*.example.com", "2001:db8::1/128"])
        #expect(targets.deny.isEmpty)
        #expect(throws: ConfigurationError.self) {
            try Configuration.parse("probe_targets: {deny: [10.0.0.0/33]}", file: "b.yml")
        }
        #expect(throws: ConfigurationError.self) {
            try Configuration.parse("probe_targets: {deny: [\"a b\"]}", file: "b.yml")
        }
    }

    @Test("The memory for bodies is a size, 64 MiB without the key")
    func bodyBudget() throws {
        #expect(try Configuration.parse("modules: {}", file: "b.yml").probes.bodyBudget.bytes == 64 << 20)
        #expect(try Configuration.parse("probe_body_budget: 8MiB", file: "b.yml").probes.bodyBudget.bytes == 8 << 20)
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("probe_body_budget: 1k", file: "b.yml")
        }
        #expect(
            error?.problems.map(\.description) == ["b.yml:1: probe_body_budget: 1k is below the minimum of 1.0 MiB"])
    }

    @Test("Modules apply with a reload")
    func reload() throws {
        let before = try Configuration.parse("modules: {}", file: "b.yml")
        let after = try Configuration.parse("modules: {m: {prober: http}}", file: "b.yml")
        #expect(after.keysThatNeedRestart(from: before).isEmpty && after != before)
    }
}
