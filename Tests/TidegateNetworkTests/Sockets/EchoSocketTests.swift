import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateTestKit

@testable import TidegateNetwork

/// Raw sockets receive errors about the packets of every socket to their address (raw(7)).
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct EchoSocketTests {
    private static let far = "203.0.113.9"

    private static func request() throws -> EchoClient.Request {
        let address = try #require(IPAddress(Self.far))
        return EchoClient.Request(SocketRequest(to: address, within: .seconds(20)), payload: [1, 2, 3, 4])
    }

    // A gateway that refuses every packet to the far address, however many come: for a route it would seldom say so.
    private static func hosts() throws -> ThreeHosts {
        let hosts = try ThreeHosts()
        try hosts.gateway.sysctl("net.ipv4.icmp_ratemask=0")
        try ThreeHosts.filter(
            hosts.gateway,
            "table ip t { chain c { type filter hook prerouting priority 0; "
                + "ip daddr \(Self.far) reject with icmp type host-unreachable; }; }")
        return hosts
    }

    // Echo requests with another number, as fast as the kernel takes them.
    private static let flood = """
        import socket
        stream = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        print("flooding", flush=True)
        while True:
            try:
                stream.sendto(bytes([8, 0, 0xF5, 0xFD, 1, 1, 1, 1]), ("203.0.113.9", 0))
            except OSError:
                pass
        """

    @Test("Errors about the packets of others are no answer, whenever they come")
    func others() async throws {
        let (hosts, request) = (try Self.hosts(), try Self.request())
        let flood = try Program(["ip", "netns", "exec", hosts.here.name, "python3", "-c", Self.flood])
        defer { flood.signal(SIGKILL) }
        try #require(await eventually { flood.outputSoFar.contains("flooding") }, "\(flood.errorsSoFar)")
        let found = Mutex<[EchoClient.Result]?>(nil)
        try hosts.here.inside {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let now = SystemClock().monotonic()
            let sockets = (1...100 as ClosedRange<UInt16>).compactMap { number -> (EchoExchange, Int32)? in
                var exchange = EchoExchange(request: request, id: 2, sequence: number)
                return (try? exchange.open(at: now)).map { (exchange, $0) }
            }
            let results = sockets.flatMap { exchange, descriptor in
                (0..<2000).compactMap { _ -> EchoClient.Result? in
                    guard case .over(let outcome) = exchange.ready(descriptor, into: &buffer, at: now) else {
                        return nil
                    }
                    return outcome.result
                }
            }
            found.withLock { $0 = sockets.count == 100 ? results : nil }
            for (exchange, descriptor) in sockets { exchange.close(descriptor) }
        }
        let results = try #require(found.withLock { $0 })
        #expect(results.isEmpty, "\(results.prefix(3))")
    }
}
