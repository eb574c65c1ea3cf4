import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

/// DNS probes of servers that answer too much, too little, or something else.
@Suite(.timeLimit(.minutes(5)))
struct DNSHostileTests {
    @Test("What comes behind the longest answer over TCP is not read, and does not keep the probe")
    func flood() async throws {
        // 12 bytes of header, 19 of the question, 12 before the data.
        let string: [UInt8] = [255] + [UInt8](repeating: 0x61, count: 255)
        let text = Array([[UInt8]](repeating: string, count: 255).joined()) + [211]
        let message = DNSMessageBytes(answers: [.init(16, text + [UInt8](repeating: 0x61, count: 211))])
        let server = try ScriptedNameServer(
            stream: { message.stream(to: $0) + [UInt8](repeating: 0xFF, count: 1 << 20) }, datagrams: { _ in [] })
        let report = try await DNSProbing.probe(server.port) { $0.transport = .tcp }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
    }

    @Test("A length that promises more than comes is a broken connection, or silence", arguments: [false, true])
    func promise(isSilent: Bool) async throws {
        let good = DNSMessageBytes(answers: [DNSMessageBytes.a(1)])
        let server = try ScriptedNameServer(
            stream: { [0xFF, 0xFF] + good.reply(to: $0) }, datagrams: { _ in [] })
        let silent = try await ScriptedServer([.send("\u{7F}\u{7F}abc"), .hang])
        let report =
            isSilent
            ? try await DNSProbing.probe(silent.port, timeout: .seconds(3)) { $0.transport = .tcp }
            : try await DNSProbing.probe(server.port) { $0.transport = .tcp }
        let reason = isSilent ? "timed_out" : "reset"
        #expect(report.value("probe_failure_info", reason, "theirs") == 1, "\(report.failure as Any)")
        #expect(report.value("probe_dns_query_succeeded") == 0 && report.value("probe_dns_answer_rrs") == 0)
    }

    @Test("An answer to another question is none, whatever it says", arguments: ["name", "type", "class"])
    func otherQuestion(_ difference: String) async throws {
        let answer = DNSMessageBytes(answers: [DNSMessageBytes.a(1)])
        let server = try ScriptedNameServer(
            stream: { question in
                // The first letter of the name, the lower byte of the type, or that of the class.
                let last = 12 + DNSMessageBytes.name("www.tide.test").count + 3
                let position = ["name": 13, "type": last - 2, "class": last][difference] ?? 0
                var other = question
                other[position] ^= 2
                return answer.stream(to: other)
            }, datagrams: { _ in [] })
        let report = try await DNSProbing.probe(server.port) { $0.transport = .tcp }
        #expect(report.value("probe_failure_info", "protocol_error", "theirs") == 1, "\(report.failure as Any)")
        #expect(report.value("probe_dns_query_succeeded") == 0 && report.value("probe_dns_answer_rrs") == 0)
    }
}
