import Testing
import TidegateCore
import TidegateProbes

struct ProbeTargetPolicyTests {
    private static func policy(allow: [String] = [], deny: [String] = []) throws -> ProbeTargetPolicy {
        func entry(_ text: String) throws -> ProbeTargetPolicy.Entry {
            let parts = text.split(separator: "/")
            guard parts.count == 2, let length = Int(parts[1]) else { return .host(text) }
            let network = IPAddress(String(parts[0])).flatMap { IPPrefix($0, length: length) }
            return .network(try #require(network))
        }
        return ProbeTargetPolicy(allow: try allow.map(entry), deny: try deny.map(entry))
    }

    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test(
        "Metadata services are denied by default, in any form of their addresses",
        arguments: [
            "169.254.169.254", "::ffff:169.254.169.254", "fe80::1%2", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
            "100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "fd00:42::42",
        ])
    func metadata(_ text: String) throws {
        let address = try Self.address(text)
        #expect(ProbeTargetPolicy().refusal(of: "metadata.test", at: address)?.contains("probe_targets.deny") == true)
    }

    @Test("What allow names may be probed, unless deny names it, too")
    func allowAndDeny() throws {
        let policy = try Self.policy(
            allow: ["10.0.0.0/8", "*.example.com"], deny: ["10.1.0.0/16", "secret.example.com"])
        func isRefused(_ host: String, _ address: String) throws -> Bool {
            policy.refusal(of: host, at: try Self.address(address)) != nil
        }
        #expect(try !isRefused("a.test", "10.2.3.4"))
        #expect(try isRefused("a.test", "10.1.3.4"))
        #expect(try isRefused("a.test", "192.0.2.1"))
        #expect(try !isRefused("WWW.example.com", "192.0.2.1"))
        #expect(try isRefused("secret.example.com", "192.0.2.1"))
        #expect(try isRefused("example.com", "192.0.2.1"))
        #expect(try isRefused("www.example.com.test", "192.0.2.1"))
    }

    @Test("The unspecified address is loopback", arguments: ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"])
    func unspecified(_ text: String) throws {
        let policy = try Self.policy(deny: ["127.0.0.0/8", "::1/128"])
        #expect(policy.refusal(of: text, at: try Self.address(text)) != nil)
    }

    @Test(
        "Globs", arguments: [("*", "a.b", true), ("a*c", "abc", true), ("a*c", "abd", false), ("*a*b*", "xaxbx", true)])
    func globs(_ pattern: String, _ host: String, _ fits: Bool) throws {
        let policy = try Self.policy(allow: [pattern])
        #expect((policy.refusal(of: host, at: ProbeFixture.loopback) == nil) == fits)
    }
}
