import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// What the kernel refuses in the very call that asks for a connection is this host's own failure.
///
/// It never connects to a group of hosts (tcp(7)), whatever routes it has.
@Suite(.timeLimit(.minutes(5)))
struct ImmediateRefusalTests {
    private static let group = "224.0.0.1"

    @Test(
        "A route that this host does not have is blamed on no other party",
        arguments: [
            (ProbeModule.Prober.http(), "http://224.0.0.1/"), (.tcp(), "224.0.0.1:80"),
            (.dns(.with { ($0.name, $0.transport) = ("tide.test", .tcp) }), "224.0.0.1"),
            (.grpc(), "224.0.0.1:80"), (.websocket(), "ws://224.0.0.1/"),
        ])
    func route(_ prober: ProbeModule.Prober, _ target: String) async throws {
        let module = ProbeModule(prober: prober, timeout: .seconds(20))
        let report = try await ProbeFixture(module: module).probe(target)
        #expect(report.failure?.reason == "connect_failed" && report.failure?.party == .mine)
        #expect(report.failure?.text == "this host has no route to \(Self.group)")
        #expect(!report.isGated)
    }

    @Test("A source address that is not this host's is named")
    func source() async throws {
        let server = try await ScriptedServer([.hang])
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)") {
            $0.source.address = IPAddress("192.0.2.77")
        }
        #expect(report.failure?.reason == "connect_failed" && report.failure?.party == .mine)
        #expect(report.failure?.text == "this host does not have the source address 192.0.2.77")
    }
}
