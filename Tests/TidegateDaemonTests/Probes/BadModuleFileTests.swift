import Testing
import TidegateCore

@testable import TidegateDaemon

/// The files that blackbox_exporter's own tests call bad, each with what is bad in it.
@Suite struct BadModuleFileTests {
    private static let badRegexp = "\":[\" is not a regular expression: missing ]: ["

    // The module of a file, and the message after its name and the line.
    private static let files: [(file: String, module: String, message: String)] = [
        (
            "blackbox-bad", "{prober: http, http: {invalid_extra_field: a}}",
            ".http.invalid_extra_field: unknown key"
        ),
        (
            "blackbox-bad2", "{prober: http, http: {bearer_token: a, bearer_token_file: /b}}",
            ".http: bearer_token and bearer_token_file are mutually exclusive"
        ),
        (
            "invalid-prober", "{prober: invalid}",
            ".prober: unknown prober \"invalid\""
        ),
        (
            "invalid-dns-module", "{prober: dns, dns: {preferred_ip_protocol: ip6}}",
            ".dns: missing key \"query_name\""
        ),
        (
            "invalid-dns-class", "{prober: dns, dns: {query_name: a.example, query_class: X}}",
            ".dns.query_class: \"X\" is not a class of records such as IN or CH"
        ),
        (
            "invalid-dns-type", "{prober: dns, dns: {query_name: a.example, query_type: X}}",
            ".dns.query_type: \"X\" is not a type of records such as A or MX"
        ),
        (
            "invalid-http-header-match",
            "{prober: http, http: {fail_if_header_not_matches: [{header: Access-Control-Allow-Origin}]}}",
            ".http.fail_if_header_not_matches[0]: missing key \"regexp\""
        ),
        (
            "invalid-http-body-match-regexp", "{prober: http, http: {fail_if_body_matches_regexp: [':[']}}",
            ".http.fail_if_body_matches_regexp[0]: \(badRegexp)"
        ),
        (
            "invalid-http-body-not-match-regexp", "{prober: http, http: {fail_if_body_not_matches_regexp: [':[']}}",
            ".http.fail_if_body_not_matches_regexp[0]: \(badRegexp)"
        ),
        (
            "invalid-http-header-match-regexp",
            "{prober: http, http: {fail_if_header_not_matches: [{header: A, regexp: ':['}]}}",
            ".http.fail_if_header_not_matches[0]: regexp: \(badRegexp)"
        ),
        (
            "invalid-http-compression-mismatch",
            "{prober: http, http: {compression: gzip, headers: {Accept-Encoding: deflate}}}",
            ".http: Accept-Encoding \"deflate\" does not accept the compression gzip"
        ),
        (
            "invalid-http-compression-mismatch-special-case",
            "{prober: http, http: {compression: gzip, headers: {accEpt-enCoding: deflate}}}",
            ".http: Accept-Encoding \"deflate\" does not accept the compression gzip"
        ),
        (
            "invalid-http-request-compression-reject-all-encodings",
            "{prober: http, http: {compression: gzip, headers: {Accept-Encoding: '*;q=0.0'}}}",
            ".http: Accept-Encoding \"*;q=0.0\" does not accept the compression gzip"
        ),
        (
            "invalid-http-http3-http2",
            "{prober: http, http: {valid_http_versions: [HTTP/1.1, HTTP/2.0, HTTP/3.0], enable_http2: false, enable_http3: true}}",
            ".http.enable_http3: not available in this version"
        ),
        (
            "invalid-no-versions-http3-enabled", "{prober: http, http: {enable_http3: true}}",
            ".http.enable_http3: not available in this version"
        ),
        (
            "invalid-icmp-ttl", "{prober: icmp, icmp: {ttl: -1}}",
            ".icmp.ttl: -1 is below the minimum of 0"
        ),
        (
            "invalid-icmp-ttl-overflow", "{prober: icmp, icmp: {ttl: 256}}",
            ".icmp.ttl: 256 is above the maximum of 255"
        ),
        (
            "invalid-tcp-query-response-regexp", "{prober: tcp, tcp: {query_response: [{expect: ':['}]}}",
            ".tcp.query_response[0].expect: \(badRegexp)"
        ),
        (
            "invalid-unix-query-response-regexp", "{prober: unix, unix: {query_response: [{expect: ':['}]}}",
            ".unix.query_response[0].expect: \(badRegexp)"
        ),
        (
            "invalid-websocket-query-response-regexp",
            "{prober: websocket, websocket: {query_response: [{expect: ':['}]}}",
            ".websocket.query_response[0].expect: \(badRegexp)"
        ),
        (
            "invalid-websocket-whitespace-bearer-token",
            "{prober: websocket, websocket: {http_config: {bearer_token: '   '}}}",
            ".websocket.http_config: the token is empty"
        ),
        (
            "invalid-websocket-incomplete-basic-auth",
            "{prober: websocket, websocket: {http_config: {basic_auth: {password: b}}}}",
            ".websocket.http_config: basic_auth needs a username and a password"
        ),
        (
            "invalid-websocket-incomplete-basic-auth 2",
            "{prober: websocket, websocket: {http_config: {basic_auth: {username: u}}}}",
            ".websocket.http_config: basic_auth needs a username and a password"
        ),
        (
            "invalid-websocket-header-newline-name",
            "{prober: websocket, websocket: {http_config: {http_headers: {\"X-Test\\nHeader\": {values: [a]}}}}}",
            ".websocket.http_config.http_headers.X-Test\\u{a}Header: \"X-Test\\u{a}Header\" is not the name of a header field"
        ),
        (
            "invalid-websocket-header-newline-value",
            "{prober: websocket, websocket: {http_config: {http_headers: {X-A: {values: [\"a\\nb\"]}}}}}",
            ".websocket.http_config.http_headers.X-A: the value of X-A has a character that a field cannot contain"
        ),
        (
            "invalid-websocket-header-control-char",
            "{prober: websocket, websocket: {http_config: {http_headers: {\"X-A\\x01\": {values: [a]}}}}}",
            ".websocket.http_config.http_headers.X-A\\u{1}: \"X-A\\u{1}\" is not the name of a header field"
        ),
        (
            "invalid-http-body-config", "{prober: http, http: {body: a, body_file: /b}}",
            ".http: body and body_file are mutually exclusive"
        ),
        (
            "invalid-http-headers-config", "{prober: http, http: {headers: {Accept: [a]}}}",
            ".http.headers.Accept: expected a string, found a list"
        ),
    ]

    @Test("Each is refused with one sentence", arguments: Self.files.indices)
    func refused(_ number: Int) {
        let (_, module, message) = Self.files[number]
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("modules: {m: \(module)}", file: "b.yml")
        }
        #expect(error?.description == "b.yml:1: modules.m\(message)")
    }
}
