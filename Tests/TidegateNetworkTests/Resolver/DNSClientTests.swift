import Glibc
import Synchronization
import Testing
import TidegateLoop
import TidegateCore
@testable import TidegateNetwork
import TidegateTestKit

/// The client with scripted servers, correct and incorrect ones.
@Suite struct DNSClientTests {
    private let client = DNSClient(time: SystemClock())
    private static let seven = IPAddress(ipv4: 0x0A00_0007)

    @Test("An answer has the addresses, and the shortest time to live along the chain of aliases")
    func chain() async throws {
        let server = try ScriptedNameServer { query in
            [
                DNSPacket(
                    to: query,
                    [
                        DNSPacket.alias("API.example", 300, "edge.example"),
                        DNSPacket.alias("edge.example", 20, "a.cdn.test"),
                        DNSPacket.a("a.CDN.test", 60, 10, 0, 0, 7), DNSPacket.a("a.cdn.test", 90, 10, 0, 0, 8),
                        DNSPacket.a("unrelated.test", 1, 10, 9, 9, 9),
                    ]
                ).bytes
            ]
        }
        let outcome = await self.client.ask("api.Example.", port: server.port)
        #expect(outcome == .answered([Self.seven, IPAddress(ipv4: 0x0A00_0008)], timeToLive: .seconds(20)))
    }

    @Test(
        "A question that this host drops is not the server's failure", arguments: [ENOBUFS, ENOMEM, EPERM, ENETUNREACH])
    func dropped(_ code: Int32) {
        #expect(DNSOutcome(errorNumber: code, server: Self.seven) == .unreachable(nil))
    }

    @Test("IPv6 addresses are queried and parsed, and an IPv4-mapped one is the IPv4 address")
    func aaaa() async throws {
        let octets: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [255, 255, 192, 0, 2, 1]
        let server = try ScriptedNameServer { query in
            [DNSPacket(to: query, [octets, mapped].map { DNSPacket.record([0xC0, 12], 28, 7, $0) }).bytes]
        }
        let addresses = ["2001:db8::1", "192.0.2.1"].compactMap(IPAddress.init)
        #expect(
            await self.client.ask("six.example", .aaaa, port: server.port)
                == .answered(addresses, timeToLive: .seconds(7)))
    }

    @Test(
        "Each failure of a server has its own outcome",
        arguments: [
            (3, .nameNotFound), (0, .noData), (1, .failed(code: "FORMERR")), (2, .failed(code: "SERVFAIL")),
            (4, .failed(code: "NOTIMP")), (5, .failed(code: "REFUSED")), (11, .failed(code: "RCODE11")),
        ] as [(UInt16, DNSOutcome)])
    func codes(_ code: UInt16, _ expected: DNSOutcome) async throws {
        let server = try ScriptedNameServer { [DNSPacket(to: $0, flags: 0x8180 | code, []).bytes] }
        #expect(await self.client.ask("a.example", port: server.port) == expected)
    }

    @Test("A failure without a question is an answer")
    func bareFailure() async throws {
        let server = try ScriptedNameServer { query in
            var packet = DNSPacket(to: query, flags: 0x8182, [])
            packet.question = []
            return [packet.bytes]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "SERVFAIL"))
    }

    @Test("Forgeries and garbage are ignored, and the genuine answer after them is used")
    func forgeries() async throws {
        let server = try ScriptedNameServer { query in
            let forged = [DNSPacket.a("a.example", 60, 6, 6, 6, 6)]
            var otherID = DNSPacket(to: query, forged)
            otherID.id ^= 1
            var otherName = DNSPacket(to: query, forged)
            otherName.question = DNSPacket.name("b.example") + DNSPacket.octets(1, 1)
            var otherType = DNSPacket(to: query, forged)
            otherType.question = DNSPacket.name("a.example") + DNSPacket.octets(28, 1)
            var otherClass = DNSPacket(to: query, forged)
            otherClass.question = DNSPacket.name("a.example") + DNSPacket.octets(1, 3)
            var noQuestion = DNSPacket(to: query, forged)
            noQuestion.question = []
            var liar = DNSPacket(to: query, forged)
            liar.counts = (1, 4000)
            var loop = DNSPacket(to: query, [DNSPacket.record([0xC0, 12], 1, 60, [6, 6, 6, 6])])
            loop.question = [0xC0, 12] + DNSPacket.octets(1, 1)
            let question = DNSPacket(to: query, flags: 0x0100, forged)
            let notify = DNSPacket(to: query, flags: 0xA180, forged)
            let oversized = DNSPacket(to: query, forged).bytes + Array(repeating: 0, count: 9000)
            return [otherID, otherName, otherType, otherClass, noQuestion, liar, loop, question, notify].map(\.bytes)
                + [oversized, [], [0], Array(query.prefix(11)), Array(repeating: 0xFF, count: 512)]
                + [DNSPacket(to: query, [DNSPacket.a("a.example", 60, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(60)))
    }

    @Test("Only garbage until the limit is malformed")
    func onlyGarbage() async throws {
        let server = try ScriptedNameServer { _ in [[1, 2, 3]] }
        let outcome = await self.client.ask("a.example", port: server.port, within: .milliseconds(200))
        #expect(outcome == .failed(code: "MALFORMED"))
    }

    @Test("An answer from another address or port is not received")
    func otherSource() async throws {
        let server = try ScriptedNameServer(isImpostor: true) { query in
            [DNSPacket(to: query, [DNSPacket.a("a.example", 60, 6, 6, 6, 6)]).bytes]
        }
        let outcome = await self.client.ask("a.example", port: server.port, within: .milliseconds(150))
        #expect(outcome == .timedOut)
        #expect(server.datagramCount == 1)
    }

    @Test("A question without an answer is sent again, as the same question", arguments: [1, 2, 7])
    func lost(_ count: Int) async throws {
        let received = Mutex<[[UInt8]]>([])
        let server = try ScriptedNameServer { query in
            let number = received.withLock { all in
                all.append(query)
                return all.count
            }
            guard number > count else { return [] }
            return [DNSPacket(to: query, [DNSPacket.a("a.example", 60, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(60)))
        #expect(Set(received.withLock { $0 }).count == 1)
        #expect(server.datagramCount > count)
    }

    @Test("An answer that is too long for a datagram is fetched over TCP")
    func truncated() async throws {
        let server = try ScriptedNameServer(
            stream: { query in
                DNSPacket(to: query, (0..<100).map { DNSPacket.a("a.example", 30, 10, 0, 1, $0) }).framed
            }, datagrams: { query in [DNSPacket(to: query, flags: 0x8380, []).bytes] })
        let expected = (0..<100).map { IPAddress(ipv4: 0x0A00_0100 + $0) }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered(expected, timeToLive: .seconds(30)))
        #expect(server.streamCount == 1)
    }

    @Test("If TCP fails, the addresses in the datagram are used")
    func truncatedOnly() async throws {
        let server = try ScriptedNameServer { query in
            [DNSPacket(to: query, flags: 0x8380, [DNSPacket.a("a.example", 30, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(30)))
        let empty = try ScriptedNameServer { query in [DNSPacket(to: query, flags: 0x8380, []).bytes] }
        #expect(await self.client.ask("a.example", port: empty.port) == .refused)
    }

    @Test(
        "A stream that ends early, has a wrong length or another answer is malformed",
        arguments: [[], [0], [0, 40, 1, 2, 3], [0xFF, 0xFF], [0, 2, 9, 9], [0, 0]] as [[UInt8]])
    func badStreams(_ answer: [UInt8]) async throws {
        let server = try ScriptedNameServer(
            stream: { _ in answer }, datagrams: { [DNSPacket(to: $0, flags: 0x8380, []).bytes] })
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "MALFORMED"))
    }

    @Test("A closed port is reported at once, over both families")
    func refused() async throws {
        let port = try { try ScriptedNameServer { _ in [] }.port }()
        #expect(await self.client.ask("a.example", port: port, within: .seconds(60)) == .refused)
        let six = try #require(IPAddress("::1"))
        #expect(await self.client.ask("a.example", at: six, port: port, within: .seconds(60)) == .refused)
    }

    @Test(
        "A name that does not fit into a packet does not exist",
        arguments: ["", "a..b", String(repeating: "a", count: 64)])
    func badNames(_ name: String) async throws {
        #expect(await self.client.ask(name, port: 9) == .nameNotFound)
    }

    @Test("A cycle of aliases is malformed")
    func circle() async throws {
        let server = try ScriptedNameServer { query in
            [
                DNSPacket(
                    to: query,
                    [DNSPacket.alias("a.example", 9, "b.example"), DNSPacket.alias("b.example", 9, "a.example")]
                )
                .bytes
            ]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "MALFORMED"))
    }

    @Test("A time to live with the highest bit set is zero")
    func hugeTimeToLive() async throws {
        let server = try ScriptedNameServer { query in
            [DNSPacket(to: query, [DNSPacket.a("a.example", 0x8000_0001, 10, 0, 0, 7)]).bytes]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .zero))
    }

    @Test("A thousand concurrent questions are all answered")
    func many() async throws {
        let server = try ScriptedNameServer { query in
            [DNSPacket(to: query, [DNSPacket.record([0xC0, 12], 1, 60, [10, 0, 0, 7])]).bytes]
        }
        let client = self.client
        await withTaskGroup(of: DNSOutcome.self) { group in
            for number in 0..<1000 { group.addTask { await client.ask("host\(number).example", port: server.port) } }
            for await outcome in group { #expect(outcome == .answered([Self.seven], timeToLive: .seconds(60))) }
        }
    }

    @Test("Questions under way complete as timed out when the client stops")
    func ending() async throws {
        let server = try ScriptedNameServer { _ in [] }
        let client = DNSClient(time: SystemClock())
        let outcome = await withCheckedContinuation { waiter in
            client.ask(DNSQuestion(name: "a.example", type: .a, server: loopback, port: server.port)) {
                waiter.resume(returning: $0)
            }
            client.stop()
        }
        #expect(outcome == .timedOut)
    }
}
