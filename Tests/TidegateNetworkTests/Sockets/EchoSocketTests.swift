import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateNetwork

/// Raw sockets are told of errors about everybody's packets to their address (raw(7)).
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(2)))
struct EchoSocketTests {
    private static let far = "203.0.113.9"

    private static func request() throws -> EchoClient.Request {
        EchoClient.Request(to: try #require(IPAddress(Self.far)), payload: [1, 2, 3, 4], within: .seconds(20))
    }

    // A gateway that refuses every packet to the far address, however many come.
    private static func hosts() throws -> ThreeHosts {
        let hosts = try ThreeHosts()
        try hosts.gateway.ip("route add unreachable \(Self.far)")
        try hosts.gateway.sysctl("net.ipv4.icmp_ratemask=0")
        return hosts
    }

    @Test("A request is sent though an error about another one waits at its socket")
    func pending() throws {
        let (hosts, request) = (try Self.hosts(), try Self.request())
        let found = Mutex<[EchoClient.Result?]>([])
        try hosts.here.inside {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            func answer(_ socket: EchoSocket) -> EchoClient.Result? {
                let sent = socket.send()
                if sent != nil { return sent }
                for _ in 0..<10_000 {
                    if let result = socket.receive(into: &buffer, after: { .zero }) { return result }
                    usleep(1000)
                }
                return nil
            }
            // Both are open before the first one's refusal comes, which waits at both.
            let sockets = (1...2).compactMap { try? EchoSocket(request, numbers: ($0, $0)) }
            found.withLock { $0 = sockets.map(answer) }
            for socket in sockets { socket.close() }
        }
        let results = found.withLock { $0 }
        try #require(results.count == 2)
        for result in results {
            guard case .refused(let error) = result else {
                Issue.record("\(result as Any)")
                continue
            }
            #expect(error.offender == IPAddress(ThreeHosts.gatewayAddress.ipv4) && error.type == 3, "\(error)")
        }
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
            let sockets = (1...100).compactMap { try? EchoSocket(request, numbers: (2, $0)) }
            let results = sockets.flatMap { socket in
                (0..<2000).compactMap { _ in socket.receive(into: &buffer, after: { .zero }) }
            }
            found.withLock { $0 = sockets.count == 100 ? results : nil }
            for socket in sockets { socket.close() }
        }
        let results = try #require(found.withLock { $0 })
        #expect(results.isEmpty, "\(results.prefix(3))")
    }
}
