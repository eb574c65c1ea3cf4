import CLinux
import Glibc
import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// The list of other programs' connections leaves out those of probes.
@Suite(.timeLimit(.minutes(5)))
struct OwnProbeSocketTests {
    /// The socket of this process that is connected to a port; nil without one.
    private static func client(of port: UInt16) -> Int32? {
        (0..<Int32(4096)).first { descriptor in
            var address = sockaddr_in6()
            var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
            }
            return isConnected && [AF_INET, AF_INET6].contains(Int32(address.sin6_family))
                && UInt16(bigEndian: address.sin6_port) == port
        }
    }

    @Test(
        "The connections of every prober are known as this program's own",
        arguments: [
            (ProbeModule.Prober.http(), "http://"), (.tcp(.with { $0.dialogue = [.expect(bytes: "never")] }), ""),
            (.dns(.with { ($0.name, $0.transport) = ("tide.test", .tcp) }), ""), (.grpc(), ""), (.websocket(), "ws://"),
        ])
    func connections(_ prober: ProbeModule.Prober, _ scheme: String) async throws {
        let server = try await ScriptedServer([.hang])
        let own = OwnSockets()
        let fixture = ProbeFixture(module: ProbeModule(prober: prober, timeout: .seconds(60)), own: own)
        let run = Task { try await fixture.probe("\(scheme)127.0.0.1:\(server.port)") }
        #expect(await eventually { Self.client(of: server.port) != nil })
        let client = try #require(Self.client(of: server.port))
        #expect(own.contains(tg_socket_cookie(client)))
        // What the probe waits for is over with that.
        shutdown(client, Int32(SHUT_RDWR))
        #expect(try await run.value.value("probe_success") == 0)
    }
}
