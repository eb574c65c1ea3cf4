import Foundation
import Testing
import TidegateTestKit

/// DNS probes of one name server by blackbox_exporter and by tidegate.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"), .timeLimit(.minutes(5))
)
struct DNSBlackboxTests {
    private typealias Record = DNSMessageBytes.Record

    // Records with the text that blackbox_exporter's library makes of their data.
    private static let records: [(name: String, record: Record, type: String, text: String)] = [
        ("a", DNSMessageBytes.a(1), "A", "192\\.0\\.2\\.1"),
        ("aaaa", Record(28, [0x20, 1, 0xD, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]), "AAAA", "2001:db8::1"),
        ("mx", Record(15, [0, 10] + DNSMessageBytes.name("m.tide.test")), "MX", "10 m\\.tide\\.test\\."),
        ("txt", Record(16, [3] + Array("a b".utf8) + [2] + Array("\"c".utf8)), "TXT", "\"a b\" \"\\\\\"c\""),
        ("srv", Record(33, [0, 1, 0, 2, 0, 53] + DNSMessageBytes.name("s.test")), "SRV", "1 2 53 s\\.test\\."),
        ("soa", DNSMessageBytes.soa, "SOA", "ns\\.tide\\.test\\. mail\\.tide\\.test\\. 1000 1 2 3 4"),
        ("caa", Record(257, [0, 5] + Array("issue".utf8) + Array("ca.test".utf8)), "CAA", "0 issue \"ca\\.test\""),
        ("ds", Record(43, [0x12, 0x34, 8, 1] + [UInt8](repeating: 0xAB, count: 20)), "DS", "4660 8 1 (AB){20}"),
        ("sshfp", Record(44, [1, 1] + [UInt8](repeating: 0xCD, count: 20)), "SSHFP", "1 1 (CD){20}"),
        ("tlsa", Record(52, [3, 1, 1] + [UInt8](repeating: 0xEF, count: 32)), "TLSA", "3 1 1 (ef){32}"),
        (
            "nsec3",
            Record(50, [1, 0, 0, 10, 2, 0xAB, 0xCD, 20] + [UInt8](repeating: 7, count: 20) + [0, 1, 0x60]), "NSEC3",
            "1 0 10 ABCD 0S3GE1O70S3GE1O70S3GE1O70S3GE1O7 A NS"
        ),
        (
            "unsalted", Record(50, [1, 1, 0, 0, 0, 20] + [UInt8](repeating: 0xFF, count: 20) + [0, 1, 0x40]), "NSEC3",
            "1 1 0 - V{32} A"
        ), ("nsec3param", Record(51, [1, 0, 0, 10, 2, 0xAB, 0xCD]), "NSEC3PARAM", "1 0 10 ABCD"),
        ("cds", Record(59, [0x12, 0x34, 8, 2] + [UInt8](repeating: 0xAB, count: 32)), "CDS", "4660 8 2 (AB){32}"),
        ("nsec", Record(47, DNSMessageBytes.name("n.test") + [0, 1, 0x60]), "NSEC", "n\\.test\\. A NS"),
    ]

    private static let modules = """
        modules:
          plain: {prober: dns, dns: {query_name: full.tide.test, query_type: A}}
          tcp: {prober: dns, dns: {query_name: full.tide.test, query_type: A, transport_protocol: tcp}}
          soa: {prober: dns, dns: {query_name: soa.tide.test, query_type: SOA}}
          no_soa: {prober: dns, dns: {query_name: full.tide.test, query_type: SOA}}
          any: {prober: dns, dns: {query_name: full.tide.test, recursion_desired: false}}
          refused: {prober: dns, dns: {query_name: refused.tide.test}}
          servfail: {prober: dns, dns: {query_name: servfail.tide.test}}
          expected: {prober: dns, dns: {query_name: servfail.tide.test, valid_rcodes: [SERVFAIL]}}
          matches: {prober: dns, dns: {query_name: full.tide.test, validate_answer_rrs: {fail_if_matches_regexp: ["2$"]}}}
          all: {prober: dns, dns: {query_name: full.tide.test, validate_answer_rrs: {fail_if_all_match_regexp: ["192"]}}}
          not_all: {prober: dns, dns: {query_name: full.tide.test, validate_answer_rrs: {fail_if_all_match_regexp: ["1$"]}}}
          not: {prober: dns, dns: {query_name: full.tide.test, validate_answer_rrs: {fail_if_not_matches_regexp: ["2$"]}}}
          none: {prober: dns, dns: {query_name: full.tide.test, validate_answer_rrs: {fail_if_none_matches_regexp: ["MX"]}}}
          authority: {prober: dns, dns: {query_name: full.tide.test, validate_authority_rrs: {fail_if_none_matches_regexp: ["NS\\t"]}}}
          chaos: {prober: dns, dns: {query_name: chaos.tide.test, query_type: TXT, query_class: CH,
            validate_answer_rrs: {fail_if_not_matches_regexp: ['\\tCH\\tTXT\\t"unbound"$']}}}
          additional: {prober: dns, dns: {query_name: a.tide.test, validate_additional_rrs: {fail_if_not_matches_regexp: ["A"]}}}

        """

    private static func answer(_ question: [UInt8]) -> DNSMessageBytes {
        let label = DNSMessageBytes.firstLabel(of: question)
        if let found = self.records.first(where: { $0.name == label }) {
            return DNSMessageBytes(answers: [found.record])
        }
        switch label {
        case "refused": return DNSMessageBytes(code: 5)
        case "chaos": return DNSMessageBytes(answers: [Record(16, class: 3, [7] + Array("unbound".utf8))])
        case "servfail": return DNSMessageBytes(code: 2)
        default:
            return DNSMessageBytes(
                answers: [DNSMessageBytes.a(1), DNSMessageBytes.a(2)],
                authorities: [Record(2, DNSMessageBytes.name("ns.test"))], additionals: [DNSMessageBytes.a(7)])
        }
    }

    @Test("Every series of blackbox_exporter is there, with the same value, and records have the same text")
    func series() async throws {
        let server = try ScriptedNameServer(
            stream: { Self.answer($0).stream(to: $0) }, datagrams: { [Self.answer($0).reply(to: $0)] })
        let texts = Self.records.map { name, _, type, text in
            let line = "^\(name)\\.tide\\.test\\.\\t300\\tIN\\t\(type)\\t\(text)$"
            let quoted = "'" + line.replacing("'", with: "''") + "'"
            return "  text_\(name): {prober: dns, dns: {query_name: \(name).tide.test, "
                + "validate_answer_rrs: {fail_if_not_matches_regexp: [\(quoted)]}}}\n"
        }
        let comparison = try await BlackboxComparison(Self.modules + texts.joined())
        defer { comparison.stop() }
        let target = "127.0.0.1:\(server.port)"
        let successes = ["plain", "tcp", "soa", "no_soa", "any", "expected", "all", "authority", "chaos"]
        for module in successes + Self.records.map({ "text_\($0.name)" }) {
            let found = try await comparison.compare(module, target)
            #expect(found["probe_success"] == "1", "\(module)")
        }
        for module in ["refused", "servfail", "matches", "not_all", "not", "none", "additional"] {
            let found = try await comparison.compare(module, target)
            #expect(found["probe_success"] == "0" && found["probe_dns_query_succeeded"] == "1", "\(module)")
        }
        for target in ["127.0.0.1:1", "nowhere.invalid"] {
            let found = try await comparison.compare("tcp", target)
            #expect(found["probe_success"] == "0" && found["probe_dns_query_succeeded"] == "0")
        }
    }

    // Answers every question over TLS with one address.
    private static let encryptedServer = """
        import socket, ssl, struct, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
        print("listening", flush=True)
        while True:
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as stream:
                    question = stream.recv(4096)[2:]
                    record = b"\\xc0\\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + bytes([192, 0, 2, 1])
                    reply = question[:2] + b"\\x81\\0" + struct.pack("!HHHH", 1, 1, 0, 0) + question[12:] + record
                    stream.sendall(struct.pack("!H", len(reply)) + reply)
            except (OSError, ssl.SSLError):
                pass
        """

    @Test("Questions go over TLS, to servers whose certificate is for the target")
    func encrypted() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost", "IP:127.0.0.1"])
        let port = try FreePort.find()
        let bench = try EndToEndFixture()
        defer { bench.end() }
        try await bench.start(
            ["python3", "-c", Self.encryptedServer, identity.certificate, identity.key, "\(port)"], until: "listening")
        let base = "query_name: a.tide.test, query_type: A, transport_protocol: tcp, dns_over_tls: true"
        let comparison = try await BlackboxComparison(
            """
            modules:
              dot: {prober: dns, dns: {\(base), preferred_ip_protocol: ip4, tls_config: {ca_file: \(authority.certificate)}}}
              named: {prober: dns, dns: {\(base), tls_config: {ca_file: \(authority.certificate), server_name: localhost}}}
              other: {prober: dns, dns: {\(base), tls_config: {ca_file: \(authority.certificate), server_name: other.test}}}
              unknown: {prober: dns, dns: {\(base)}}
              insecure: {prober: dns, dns: {\(base), tls_config: {insecure_skip_verify: true}}}

            """)
        defer { comparison.stop() }
        for (module, target) in [
            ("dot", "localhost"), ("dot", "127.0.0.1"), ("named", "127.0.0.1"), ("insecure", "127.0.0.1"),
        ] {
            let found = try await comparison.compare(module, "\(target):\(port)")
            #expect(found["probe_success"] == "1" && found["probe_dns_answer_rrs"] == "1", "\(module) \(target)")
        }
        for module in ["other", "unknown"] {
            let found = try await comparison.compare(module, "127.0.0.1:\(port)")
            #expect(found["probe_success"] == "0", "\(module)")
            let failure = found.keys.first { $0.hasPrefix("probe_failure_info") } ?? ""
            #expect(failure.contains("tls_failed"), "\(module): \(failure)")
        }
    }
}
