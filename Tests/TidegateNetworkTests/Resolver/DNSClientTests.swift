import Synchronization
import Testing
import TidegateLoop
import TidegateCore
import TidegateNetwork
import TidegateTestKit

/// The client against servers that say what the tests want, right and wrong.
@Suite struct DNSClientTests {
    private let client = DNSClient(time: SystemClock())
    private static let seven = IPAddress(ipv4: 0x0A00_0007)

    @Test("An answer gives the addresses, and the shortest time to live along the chain of aliases")
    func chain() async throws {
        let server = try ScriptedNameServer { query in
            [
                Packet(
                    to: query,
                    [
                        Packet.alias("API.example", 300, "edge.example"),
                        Packet.alias("edge.example", 20, "a.cdn.test"),
                        Packet.a("a.CDN.test", 60, 10, 0, 0, 7), Packet.a("a.cdn.test", 90, 10, 0, 0, 8),
                        Packet.a("unrelated.test", 1, 10, 9, 9, 9),
                    ]
                ).bytes
            ]
        }
        let outcome = await self.client.ask("api.Example.", port: server.port)
        #expect(outcome == .answered([Self.seven, IPAddress(ipv4: 0x0A00_0008)], timeToLive: .seconds(20)))
    }

    @Test("IPv6 addresses are asked for and read")
    func aaaa() async throws {
        let octets: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]
        let server = try ScriptedNameServer { query in
            [Packet(to: query, [Packet.record([0xC0, 12], 28, 7, octets)]).bytes]
        }
        let address = try #require(IPAddress("2001:db8::1"))
        #expect(
            await self.client.ask("six.example", .aaaa, port: server.port)
                == .answered([address], timeToLive: .seconds(7)))
    }

    @Test(
        "A server's no has its own name",
        arguments: [
            (3, .nameNotFound), (0, .noData), (1, .failed(code: "FORMERR")), (2, .failed(code: "SERVFAIL")),
            (4, .failed(code: "NOTIMP")), (5, .failed(code: "REFUSED")), (11, .failed(code: "RCODE11")),
        ] as [(UInt16, DNSOutcome)])
    func codes(_ code: UInt16, _ expected: DNSOutcome) async throws {
        let server = try ScriptedNameServer { [Packet(to: $0, flags: 0x8180 | code, []).bytes] }
        #expect(await self.client.ask("a.example", port: server.port) == expected)
    }

    @Test("A failure without a question is taken for an answer")
    func bareFailure() async throws {
        let server = try ScriptedNameServer { query in
            var packet = Packet(to: query, flags: 0x8182, [])
            packet.question = []
            return [packet.bytes]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "SERVFAIL"))
    }

    @Test("Forgeries and garbage are passed over, and the true answer behind them is taken")
    func forgeries() async throws {
        let server = try ScriptedNameServer { query in
            let forged = [Packet.a("a.example", 60, 6, 6, 6, 6)]
            var otherID = Packet(to: query, forged)
            otherID.id ^= 1
            var otherName = Packet(to: query, forged)
            otherName.question = Packet.name("b.example") + Packet.words(1, 1)
            var otherType = Packet(to: query, forged)
            otherType.question = Packet.name("a.example") + Packet.words(28, 1)
            var otherClass = Packet(to: query, forged)
            otherClass.question = Packet.name("a.example") + Packet.words(1, 3)
            var noQuestion = Packet(to: query, forged)
            noQuestion.question = []
            var liar = Packet(to: query, forged)
            liar.counts = (1, 4000)
            var loop = Packet(to: query, [Packet.record([0xC0, 12], 1, 60, [6, 6, 6, 6])])
            loop.question = [0xC0, 12] + Packet.words(1, 1)
            let question = Packet(to: query, flags: 0x0100, forged)
            let notify = Packet(to: query, flags: 0xA180, forged)
            let oversized = Packet(to: query, forged).bytes + Array(repeating: 0, count: 9000)
            return [otherID, otherName, otherType, otherClass, noQuestion, liar, loop, question, notify].map(\.bytes)
                + [oversized, [], [0], Array(query.prefix(11)), Array(repeating: 0xFF, count: 512)]
                + [Packet(to: query, [Packet.a("a.example", 60, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(60)))
    }

    @Test("Nothing but garbage is called malformed once the time is over")
    func onlyGarbage() async throws {
        let server = try ScriptedNameServer { _ in [[1, 2, 3]] }
        let outcome = await self.client.ask("a.example", port: server.port, within: .milliseconds(200))
        #expect(outcome == .failed(code: "MALFORMED"))
    }

    @Test("An answer from another address or port than the one asked is never seen")
    func otherSource() async throws {
        let server = try ScriptedNameServer(isImpostor: true) { query in
            [Packet(to: query, [Packet.a("a.example", 60, 6, 6, 6, 6)]).bytes]
        }
        let outcome = await self.client.ask("a.example", port: server.port, within: .milliseconds(150))
        #expect(outcome == .timedOut)
        #expect(server.datagramCount == 1)
    }

    @Test("A lost packet is sent again")
    func lost() async throws {
        let count = Atomic<Int>(0)
        let server = try ScriptedNameServer { query in
            guard count.add(1, ordering: .relaxed).newValue > 1 else { return [] }
            return [Packet(to: query, [Packet.a("a.example", 60, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(60)))
        #expect(server.datagramCount == 2)
    }

    @Test("An answer that is too long for a datagram is had over TCP")
    func truncated() async throws {
        let server = try ScriptedNameServer(
            stream: { query in
                Packet(to: query, (0..<100).map { Packet.a("a.example", 30, 10, 0, 1, $0) }).framed
            }, datagrams: { query in [Packet(to: query, flags: 0x8380, []).bytes] })
        let expected = (0..<100).map { IPAddress(ipv4: 0x0A00_0100 + $0) }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered(expected, timeToLive: .seconds(30)))
        #expect(server.streamCount == 1)
    }

    @Test("Where TCP fails, what the datagram held has to do")
    func truncatedOnly() async throws {
        let server = try ScriptedNameServer { query in
            [Packet(to: query, flags: 0x8380, [Packet.a("a.example", 30, 10, 0, 0, 7)]).bytes]
        }
        #expect(
            await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .seconds(30)))
        let empty = try ScriptedNameServer { query in [Packet(to: query, flags: 0x8380, []).bytes] }
        #expect(await self.client.ask("a.example", port: empty.port) == .refused)
    }

    @Test(
        "A stream that ends early, lies about its length or says something else is malformed",
        arguments: [[], [0], [0, 40, 1, 2, 3], [0xFF, 0xFF], [0, 2, 9, 9], [0, 0]] as [[UInt8]])
    func badStreams(_ answer: [UInt8]) async throws {
        let server = try ScriptedNameServer(
            stream: { _ in answer }, datagrams: { [Packet(to: $0, flags: 0x8380, []).bytes] })
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "MALFORMED"))
    }

    @Test("Nothing listening is told at once, by UDP and over both families")
    func refused() async throws {
        let port = try { try ScriptedNameServer { _ in [] }.port }()
        let start = ContinuousClock.now
        #expect(await self.client.ask("a.example", port: port, within: .seconds(60)) == .refused)
        let six = try #require(IPAddress("::1"))
        #expect(await self.client.ask("a.example", at: six, port: port, within: .seconds(60)) == .refused)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test("A name that fits no packet does not exist", arguments: ["", "a..b", String(repeating: "a", count: 64)])
    func badNames(_ name: String) async throws {
        #expect(await self.client.ask(name, port: 9) == .nameNotFound)
    }

    @Test("Aliases in a circle end")
    func circle() async throws {
        let server = try ScriptedNameServer { query in
            [
                Packet(
                    to: query, [Packet.alias("a.example", 9, "b.example"), Packet.alias("b.example", 9, "a.example")]
                )
                .bytes
            ]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .failed(code: "MALFORMED"))
    }

    @Test("A time to live with the highest bit counts as none")
    func hugeTimeToLive() async throws {
        let server = try ScriptedNameServer { query in
            [Packet(to: query, [Packet.a("a.example", 0x8000_0001, 10, 0, 0, 7)]).bytes]
        }
        #expect(await self.client.ask("a.example", port: server.port) == .answered([Self.seven], timeToLive: .zero))
    }

    @Test("A thousand questions at once are all answered, a few at a time")
    func many() async throws {
        let server = try ScriptedNameServer { query in
            [Packet(to: query, [Packet.record([0xC0, 12], 1, 60, [10, 0, 0, 7])]).bytes]
        }
        let client = self.client
        await withTaskGroup(of: DNSOutcome.self) { group in
            for number in 0..<1000 { group.addTask { await client.ask("host\(number).example", port: server.port) } }
            for await outcome in group { #expect(outcome == .answered([Self.seven], timeToLive: .seconds(60))) }
        }
    }

    @Test("Whoever still waits when the client ends is told")
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
