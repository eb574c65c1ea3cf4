import Testing
import TidegateCore
import TidegateProbes
import TidegateCEL

@testable import TidegateDaemon

/// A module's `dns`.
@Suite struct DNSProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        try #require(try Configuration.parse("modules: {m: \(yaml)}", file: "b.yml").probes.modules["m"])
    }

    @Test("Every key has its place, and without keys a module is blackbox_exporter's default")
    func keys() throws {
        let module = try Self.module(
            "{prober: dns, dns: {query_name: a.example, query_type: MX, query_class: CH, recursion_desired: false, "
                + "transport_protocol: tcp, dns_over_tls: true, tls_config: {server_name: b.example}, "
                + "preferred_ip_protocol: ip4, ip_protocol_fallback: false, source_ip_address: 192.0.2.1, "
                + "source_interface: eth0, valid_rcodes: [NOERROR, NXDOMAIN], validate_answer_rrs: "
                + "{fail_if_matches_regexp: [a], fail_if_all_match_regexp: [b], fail_if_not_matches_regexp: [c], "
                + "fail_if_none_matches_regexp: [d]}, validate_authority_rrs: {fail_if_matches_regexp: [e]}, "
                + "validate_additional_rrs: {fail_if_matches_regexp: [f]}}}"
        )
        let dns = try #require(module.dns)
        #expect(dns.name == "a.example" && dns.type == "MX")
        #expect(dns.recordClass == "CH" && !dns.isRecursive)
        #expect(dns.transport == .tcp && dns.isEncrypted && dns.tls.serverName == "b.example")
        #expect(dns.family == FamilyPreference(.ipv4, allowsFallback: false) && dns.validCodes == [0, 3])
        #expect(dns.source.address == IPAddress("192.0.2.1") && dns.source.interface == "eth0")
        let answers = dns.answers
        let patterns = [
            answers.failsIfMatches, answers.failsIfAllMatch, answers.failsIfNotMatches, answers.failsIfNoneMatches,
            dns.authorities.failsIfMatches, dns.additionals.failsIfMatches,
        ]
        #expect(patterns.map { $0.map(\.pattern) } == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]])
        var plain = DNSProbeOptions()
        plain.name = "a"
        #expect(try Self.module("{prober: dns, dns: {query_name: a}}").dns == plain)
    }

    @Test(
        "A mistake is reported by line and key",
        arguments: [
            ("{}", ": missing key \"query_name\""),
            ("{query_name: \"\"}", ".query_name: the query name must not be empty; the root is \".\""),
            ("{query_name: a..b}", ".query_name: \"a..b\" cannot be a name in the DNS"),
            ("{query_name: a, query_type: X}", ".query_type: \"X\" is not a type of records such as A or MX"),
            ("{query_name: a, query_class: X}", ".query_class: \"X\" is not a class of records such as IN or CH"),
            (
                "{query_name: a, valid_rcodes: [OK]}",
                ".valid_rcodes[0]: \"OK\" is not a response code such as NOERROR or NXDOMAIN"
            ),
            ("{query_name: a, transport_protocol: sctp}", ".transport_protocol: \"sctp\" is not udp or tcp"),
            ("{query_name: a, dns_over_tls: true}", ".dns_over_tls: needs transport_protocol: tcp"),
            (
                "{query_name: a, validate_answer_rrs: {fail_if_matches_regexp: [\":[\"]}}",
                ".validate_answer_rrs.fail_if_matches_regexp[0]: \":[\" is not a regular expression: missing ]: ["
            ),
            ("{query_name: a, source_ip_address: here}", ".source_ip_address: \"here\" is not an IP address"),
        ])
    func mistakes(_ keys: String, _ message: String) {
        do throws(ConfigurationError) {
            _ = try Configuration.parse("modules: {m: {prober: dns, dns: \(keys)}}", file: "b.yml")
            Issue.record("accepted")
        } catch {
            #expect(error.description == "b.yml:1: modules.m.dns" + message)
        }
    }
}
