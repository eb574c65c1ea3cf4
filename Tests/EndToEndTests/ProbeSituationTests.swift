import Foundation
import Testing
import TidegateTestKit

/// Six situations in which blackbox_exporter's series are all the same: each has its own answer here.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct ProbeSituationTests {
    private struct Answer {
        let status: Int32
        let info: String
        let isGated: Bool
        let sentence: String
    }

    private static func probe(_ hosts: TwoHosts, _ target: String) async throws -> Answer {
        let command = [BuiltProduct.path(of: "tidegate"), "probe", "--timeout", "2s", "http_2xx", target]
        let output = try await Program.run(hosts.onThisSide(command))
        let lines = output.output.split(separator: "\n")
        let info = lines.first { $0.hasPrefix("probe_failure_info") } ?? ""
        return Answer(
            status: output.status, info: String(info), isGated: lines.contains("probe_gated 1"), sentence: output.errors
        )
    }

    private static func check(
        _ answer: Answer, _ status: Int32, _ reason: String, _ party: String, _ sentence: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(answer)", sourceLocation: location)
        #expect(
            answer.info == "probe_failure_info{reason=\"\(reason)\",party=\"\(party)\"} 1", "\(answer)",
            sourceLocation: location)
        #expect(answer.isGated == (status == 3), sourceLocation: location)
        #expect(answer.sentence.contains(sentence), "\(answer)", sourceLocation: location)
    }

    @Test("A closed port, an absent host, no route, no carrier, a link that is off and no resolver are told apart")
    func situations() async throws {
        let hosts = try TwoHosts()
        let peer = "http://\(TwoHosts.peer)/"
        Self.check(try await Self.probe(hosts, peer), 1, "connect_failed", "theirs", "10.77.0.1 refused the connection")
        Self.check(
            try await Self.probe(hosts, "http://10.77.0.9/"), 1, "timed_out", "theirs",
            "no host on uplink has the address 10.77.0.9")
        try hosts.ip("route del default")
        Self.check(try await Self.probe(hosts, "http://192.0.2.1/"), 3, "no_path", "mine", "no route")
        try hosts.pullCable()
        Self.check(try await Self.probe(hosts, peer), 3, "no_path", "mine", "uplink has no carrier")
        try hosts.ip("link set uplink down")
        Self.check(try await Self.probe(hosts, peer), 3, "no_path", "mine", "uplink is switched off")
        Self.check(
            try await Self.probe(hosts, "http://www.example/"), 3, "no_path", "mine", "no path to the resolvers")
    }
}
