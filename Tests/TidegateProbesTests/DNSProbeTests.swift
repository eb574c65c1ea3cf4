import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateCEL
import TidegateTestKit

/// DNS probes of name servers on loopback.
@Suite(.timeLimit(.minutes(5)))
struct DNSProbeTests {
    private static func probe(
        _ port: UInt16, timeout: Duration = .seconds(20), targets: ProbeTargetPolicy = ProbeTargetPolicy(),
        _ change: (inout DNSProbeOptions) throws -> Void = { _ in }
    ) async throws -> ProbeReport {
        var options = DNSProbeOptions.with { $0.name = "www.tide.test" }
        try change(&options)
        let module = ProbeModule(prober: .dns(options), timeout: timeout)
        return try await ProbeFixture(targets: targets, module: module).probe("127.0.0.1:\(port)")
    }

    private static func server(_ message: DNSMessageBytes) throws -> ScriptedNameServer {
        try ScriptedNameServer(stream: { message.stream(to: $0) }, datagrams: { [message.reply(to: $0)] })
    }

    private static let full = DNSMessageBytes(
        answers: [DNSMessageBytes.a(1)],
        authorities: [2, 3].map { DNSMessageBytes.Record(2, DNSMessageBytes.name("ns\($0).tide.test")) },
        additionals: (4..<7).map { DNSMessageBytes.a($0) })

    @Test(
        "The records of each section are counted, over both transports", arguments: DNSProbeOptions.Transport.allCases)
    func counts(transport: DNSProbeOptions.Transport) async throws {
        let server = try Self.server(Self.full)
        let report = try await Self.probe(server.port) { $0.transport = transport }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.value("probe_dns_answer_rrs") == 1 && report.value("probe_dns_authority_rrs") == 2)
        #expect(report.value("probe_dns_additional_rrs") == 3 && report.value("probe_dns_query_succeeded") == 1)
        #expect(report.phases(of: "dns") == ["resolve", "connect", "request"])
        #expect((report.value("probe_dns_duration_seconds", "request") ?? 0) > 0)
        #expect(report.value("probe_dns_serial") == nil && report.value("probe_ip_protocol") == 4)
        #expect(transport == .udp ? server.datagramCount == 1 : server.streamCount == 1)
    }

    @Test("The serial number of a zone is there if it was asked for")
    func serial() async throws {
        let server = try Self.server(DNSMessageBytes(answers: [DNSMessageBytes.soa]))
        let report = try await Self.probe(server.port) { $0.type = "SOA" }
        #expect(report.value("probe_dns_serial") == 1000, "\(report.failure as Any)")
    }

    @Test("Another response code is the server's, unless the module expects it")
    func codes() async throws {
        for (code, name) in [(UInt8(2), "SERVFAIL"), (5, "REFUSED"), (3, "NXDOMAIN")] {
            let server = try Self.server(DNSMessageBytes(code: code))
            let report = try await Self.probe(server.port)
            #expect(report.value("probe_failure_info", "rcode", "theirs") == 1, "\(report.failure as Any)")
            #expect(report.failure?.text == "the server answered \(name), not NOERROR")
            #expect(report.value("probe_dns_query_succeeded") == 1 && report.value("probe_dns_answer_rrs") == 0)
            let expected = try await Self.probe(server.port) {
                $0.validCodes = ["NOERROR", name].compactMap(DNSProbeOptions.code)
            }
            #expect(expected.value("probe_success") == 1)
        }
    }

    @Test("Conditions on records are as blackbox_exporter has them")
    func conditions() async throws {
        let server = try Self.server(DNSMessageBytes(answers: [DNSMessageBytes.a(1), DNSMessageBytes.a(2)]))
        let (both, one, none) = (
            [try RegularExpression("^www\\.tide\\.test\\.\t300\tIN\tA\t192\\.0\\.2\\.[12]$")],
            [try RegularExpression("\\.2$")], [try RegularExpression("MX")]
        )
        typealias Change = @Sendable (inout DNSProbeOptions) -> Void
        let cases: [(Change, Bool)] = [
            ({ $0.answers.failsIfMatches = one }, false), ({ $0.answers.failsIfMatches = none }, true),
            ({ $0.answers.failsIfNotMatches = both }, true), ({ $0.answers.failsIfNotMatches = one }, false),
            ({ $0.answers.failsIfNoneMatches = one }, true), ({ $0.answers.failsIfNoneMatches = none }, false),
            ({ $0.answers.failsIfAllMatch = both }, true), ({ $0.answers.failsIfAllMatch = one }, false),
            ({ $0.authorities.failsIfMatches = both }, true), ({ $0.authorities.failsIfNotMatches = both }, false),
            ({ $0.additionals.failsIfNoneMatches = both }, false), ({ $0.additionals.failsIfAllMatch = both }, true),
        ]
        for (position, (change, isSuccess)) in cases.enumerated() {
            let report = try await Self.probe(server.port) { change(&$0) }
            #expect(report.value("probe_success") == (isSuccess ? 1 : 0), "\(position): \(report.failure as Any)")
            #expect(isSuccess || report.value("probe_failure_info", "records", "theirs") == 1)
            #expect(report.value("probe_dns_query_succeeded") == 1 && report.value("probe_dns_answer_rrs") == 2)
        }
    }

    @Test("Datagrams that are no reply to the question are not taken for it")
    func forgeries() async throws {
        let good = DNSMessageBytes(answers: [DNSMessageBytes.a(1)])
        let mixed = try ScriptedNameServer { question in
            [
                [0xFF, 0xFF] + DNSMessageBytes().reply(to: question).dropFirst(2), [1, 2, 3], question,
                good.reply(to: question),
            ]
        }
        let report = try await Self.probe(mixed.port)
        #expect(report.value("probe_success") == 1 && report.value("probe_dns_answer_rrs") == 1)
        let junk = try ScriptedNameServer { _ in [[1, 2, 3]] }
        let malformed = try await Self.probe(junk.port, timeout: .milliseconds(300))
        #expect(malformed.value("probe_failure_info", "protocol_error", "theirs") == 1, "\(malformed.failure as Any)")
        #expect(malformed.value("probe_dns_query_succeeded") == 0)
        let impostor = try ScriptedNameServer(isImpostor: true) { [good.reply(to: $0)] }
        let silent = try await Self.probe(impostor.port, timeout: .milliseconds(300))
        #expect(silent.failure?.reason == "timed_out", "\(silent.failure as Any)")
    }

    @Test("An answer as large as a message may be is read whole", arguments: DNSProbeOptions.Transport.allCases)
    func largest(transport: DNSProbeOptions.Transport) async throws {
        // 16 bytes each; a datagram has at most 65,507.
        let server = try Self.server(DNSMessageBytes(answers: (0..<4090).map { DNSMessageBytes.a(UInt8($0 % 256)) }))
        let report = try await Self.probe(server.port) { $0.transport = transport }
        #expect(report.value("probe_dns_answer_rrs") == 4090, "\(report.failure as Any)")
    }

    @Test("An answer that ends before its length is no reply", arguments: [1, 2, 40])
    func cut(count: Int) async throws {
        let server = try ScriptedNameServer(
            stream: { Array(Self.full.stream(to: $0).prefix(count)) }, datagrams: { _ in [] })
        let report = try await Self.probe(server.port) { $0.transport = .tcp }
        #expect(report.value("probe_success") == 0 && report.failure?.party == .theirs, "\(report.failure as Any)")
        #expect(report.failure?.reason == "reset", "\(report.failure as Any)")
    }

    @Test("An answer to another question is not the server's answer")
    func otherQuestion() async throws {
        // The last byte of the class, and a letter of the name.
        for position in [-1, 14] {
            let server = try ScriptedNameServer { question in
                var other = question
                let end = 12 + DNSMessageBytes.name("www.tide.test").count + 4
                other[position < 0 ? end + position : position] ^= 2
                return [Self.full.reply(to: other)]
            }
            let report = try await Self.probe(server.port, timeout: .milliseconds(500))
            #expect(report.value("probe_dns_answer_rrs") == 0, "\(position)")
            #expect(report.failure?.reason == "protocol_error" && report.failure?.party == .theirs)
        }
    }

    @Test("The family is the preferred one, IPv6 without a preference")
    func family() async throws {
        for (family, number) in [(AddressFamily.ipv4, 4.0), (.ipv6, 6), (nil, 6)] as [(AddressFamily?, Double)] {
            let options = DNSProbeOptions.with {
                ($0.name, $0.transport) = ("www.tide.test", .tcp)
                if let family { $0.family = FamilyPreference(family, allowsFallback: true) }
            }
            let module = ProbeModule(prober: .dns(options), timeout: .seconds(20))
            let fixture = ProbeFixture(
                names: ["ns.test": [IPAddress(ipv4: 0x7F00_0001), try #require(IPAddress("::1"))]], module: module)
            #expect(try await fixture.probe("ns.test:1").value("probe_ip_protocol") == number)
        }
    }

    @Test("Silence, a closed port and a broken stream fail for their own reasons")
    func failures() async throws {
        let mute = try ScriptedNameServer(stream: { _ in [] }, datagrams: { _ in [] })
        let silent = try await Self.probe(mute.port, timeout: .milliseconds(300))
        #expect(silent.failure?.reason == "timed_out" && silent.duration >= .milliseconds(300))
        #expect(silent.value("probe_dns_query_succeeded") == 0)
        let closed = try await Self.probe(mute.port) { $0.transport = .tcp }
        #expect(closed.value("probe_failure_info", "reset", "theirs") == 1, "\(closed.failure as Any)")
        let port = UInt16(try FreePort.find())
        for transport in DNSProbeOptions.Transport.allCases {
            let refused = try await Self.probe(port) { $0.transport = transport }
            #expect(refused.failure?.reason == "connect_failed", "\(refused.failure as Any)")
            #expect(refused.failure?.text == "127.0.0.1 refused the connection" && refused.failure?.party == .mine)
        }
        let endless = try ScriptedNameServer(
            stream: { _ in [0xFF, 0xFF] + [UInt8](repeating: 0, count: 100_000) }, datagrams: { _ in [] })
        let oversized = try await Self.probe(endless.port) { $0.transport = .tcp }
        #expect(oversized.failure?.reason == "protocol_error", "\(oversized.failure as Any)")
    }

    @Test("The source is the module's, and a denied server is not asked")
    func source() async throws {
        let server = try Self.server(Self.full)
        for transport in DNSProbeOptions.Transport.allCases {
            let bound = try await Self.probe(server.port) {
                ($0.transport, $0.source.address) = (transport, IPAddress("127.0.0.7"))
                $0.source.interface = "lo"
            }
            #expect(bound.value("probe_success") == 1, "\(transport): \(bound.failure as Any)")
            let foreign = try await Self.probe(server.port) {
                ($0.transport, $0.source.address) = (transport, IPAddress("192.0.2.77"))
            }
            #expect(foreign.failure?.text == "this host does not have the source address 192.0.2.77")
        }
        let missing = try await Self.probe(server.port) { $0.source.interface = "nowhere7" }
        #expect(missing.failure?.text == "there is no interface nowhere7")
        let count = server.datagramCount
        let denied = try await Self.probe(server.port, targets: ProbeTargetPolicy(allow: [.host("tide.test")]))
        #expect(denied.failure?.reason == "target_denied" && server.datagramCount == count)
    }
}
