import Testing
import TidegateCore
import TidegateProbes
import TidegateCEL
import TidegateTestKit

/// What DNS probes ask, and whom.
@Suite(.timeLimit(.minutes(5)))
struct DNSQuestionTests {
    @Test(
        "A server of the preferred family answers, one of IPv6 unless the module says otherwise",
        arguments: DNSProbeOptions.Transport.allCases)
    func family(transport: DNSProbeOptions.Transport) async throws {
        let message = DNSMessageBytes(answers: [DNSMessageBytes.a(1)])
        let server = try DNSProbing.server(message, hasBothFamilies: true)
        let both = ["localhost": [ProbeFixture.loopback, try #require(IPAddress("::1"))]]
        for (family, expected) in [(AddressFamily?.some(.ipv4), 4.0), (.some(.ipv6), 6), (nil, 6)] {
            let report = try await DNSProbing.probe(host: "localhost", server.port, names: both) {
                $0.transport = transport
                if let family { $0.family.family = family }
            }
            #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
            #expect(report.value("probe_ip_protocol") == expected)
        }
        let strict = try await DNSProbing.probe(
            host: "four.test", server.port, names: ["four.test": [ProbeFixture.loopback]]
        ) { $0.family = FamilyPreference(.ipv6, allowsFallback: false) }
        #expect(strict.failure?.reason == "resolve_failed" && strict.value("probe_ip_protocol") == 0)
    }

    @Test("Recursion is asked for unless the module does without, and a server may refuse that")
    func recursion() async throws {
        let (full, refused) = (
            DNSMessageBytes(answers: [DNSMessageBytes.a(1), DNSMessageBytes.a(2)]), DNSMessageBytes(code: 5)
        )
        // The bit RD of the header (RFC 1035 4.1.1).
        let server = try ScriptedNameServer { [($0[2] & 1 == 1 ? full : refused).reply(to: $0)] }
        let asked = try await DNSProbing.probe(server.port)
        #expect(asked.value("probe_success") == 1 && asked.value("probe_dns_answer_rrs") == 2)
        let plain = try await DNSProbing.probe(server.port) { $0.isRecursive = false }
        #expect(plain.failure?.reason == "rcode" && plain.value("probe_success") == 0)
        #expect(plain.value("probe_dns_answer_rrs") == 0 && plain.value("probe_dns_query_succeeded") == 1)
    }

    @Test("A question of class CH is asked as such, and its answer's text has the class")
    func chaos() async throws {
        let text = [6] + Array("9.18.1".utf8)
        let server = try ScriptedNameServer { question in
            // TXT and CH are the last four bytes of the question.
            let isChaos = question.count > 16 && Array(question[(question.count - 4)...]) == [0, 16, 0, 3]
            return [DNSMessageBytes(answers: isChaos ? [.init(16, class: 3, text)] : []).reply(to: question)]
        }
        let line = try RegularExpression("^version\\.bind\\.\t300\tCH\tTXT\t\"9\\.18\\.1\"$")
        let report = try await DNSProbing.probe(server.port) {
            ($0.name, $0.type, $0.recordClass) = ("version.bind", "TXT", "CH")
            $0.answers.failsIfNotMatches = [line]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.value("probe_dns_answer_rrs") == 1)
    }
}
