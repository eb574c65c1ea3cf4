import Synchronization
import Testing
import TidegateLoop
import TidegateCore
import TidegateTestKit

@testable import TidegateNetwork

/// The time to live of names, from their servers.
@Suite struct TTLTests {
    private static let (four, other) = (IPAddress(ipv4: 0x0A00_0007), IPAddress(ipv4: 0x0A00_0008))
    private static let servers = [IPAddress(ipv4: 0x0A00_0001), IPAddress(ipv4: 0x0A00_0002)]

    private func settings(_ text: String = "") -> ResolverSettings {
        ResolverSettings(parsing: "nameserver 10.0.0.1\nnameserver 10.0.0.2\n" + text)
    }

    private func answer(_ seconds: Int, _ addresses: IPAddress...) -> DNSOutcome {
        .answered(addresses, timeToLive: .seconds(seconds))
    }

    @Test("The shorter time of both families is used, and only for exactly the same addresses")
    func families() throws {
        let six = try #require(IPAddress("2001:db8::1"))
        var machine = TTLMachine("a.example", [six, Self.four, Self.other], self.settings())
        #expect(machine.step() == .ask(name: "a.example", .a, server: Self.servers[0]))
        machine.receive(self.answer(300, Self.other, Self.four))
        #expect(machine.step() == .ask(name: "a.example", .aaaa, server: Self.servers[0]))
        machine.receive(self.answer(30, six))
        #expect(machine.step() == .finish(.seconds(30)))
    }

    @Test("Other addresses mean that the name was resolved by another source")
    func elsewhere() {
        for addresses in [[Self.other], [Self.four, Self.other]] {
            var machine = TTLMachine("a.example", [Self.four], self.settings())
            machine.receive(.answered(addresses, timeToLive: .seconds(30)))
            #expect(machine.step() == .finish(nil))
        }
    }

    @Test("After a failure the next server is used, and after the last one the time is unknown")
    func failures() {
        for outcome: DNSOutcome in [.failed(code: "SERVFAIL"), .refused, .unreachable(nil), .timedOut] {
            var machine = TTLMachine("a.example", [Self.four], self.settings())
            machine.receive(outcome)
            #expect(machine.step() == .ask(name: "a.example", .a, server: Self.servers[1]))
            machine.receive(outcome)
            #expect(machine.step() == .finish(nil))
        }
    }

    @Test("A short name is tried in the search list")
    func search() {
        var machine = TTLMachine("api", [Self.four], self.settings("search x.test y.test"))
        for name in ["api.x.test", "api.y.test"] {
            #expect(machine.step() == .ask(name: name, .a, server: Self.servers[0]))
            machine.receive(.nameNotFound)
        }
        #expect(machine.step() == .ask(name: "api", .a, server: Self.servers[0]))
        machine.receive(self.answer(40, Self.four))
        #expect(machine.step() == .finish(.seconds(40)))
    }

    @Test(
        "Names of the host or of the link are not sent to servers",
        arguments: ["localhost", "printer.local", "a.localhost", "printer.local."])
    func local(_ name: String) {
        let machine = TTLMachine(name, [Self.four], self.settings())
        #expect(machine.step() == .finish(nil))
    }

    @Test("Times are kept between five seconds and an hour", arguments: [(0, 5), (5, 5), (90, 90), (86_400, 3600)])
    func clamping(_ answered: Int, _ used: Int) {
        var machine = TTLMachine("a.example", [Self.four], self.settings())
        machine.receive(self.answer(answered, Self.four))
        #expect(machine.step() == .finish(.seconds(used)))
    }

    // MARK: Together with the resolver

    private func resolver(_ time: ManualTime, _ server: ScriptedNameServer) -> Resolver {
        let ttlLookup = TTLLookup(
            client: DNSClient(time: SystemClock()), time: time, settings: { ResolverSettings() }, port: server.port)
        return Resolver(time: time, ttlLookup: ttlLookup) { _ in .success([Self.four]) }
    }

    private func ttl(_ resolver: Resolver, _ name: String) async -> Duration? {
        await withCheckedContinuation { waiter in resolver.timeToLive(of: name) { waiter.resume(returning: $0) } }
    }

    private func resolve(_ resolver: Resolver, _ name: String) async {
        await withCheckedContinuation { waiter in resolver.resolve(name) { _ in waiter.resume() } }
    }

    @Test("An answer is valid for its time to live, longer and shorter than a minute", arguments: [20, 300])
    func kept(_ seconds: UInt32) async throws {
        let time = ManualTime()
        // A repeated question keeps its id.
        let ids = Mutex<Set<UInt16>>([])
        let server = try ScriptedNameServer { query in
            let answer = DNSPacket(to: query, [DNSPacket.record([0xC0, 12], 1, seconds, [10, 0, 0, 7])])
            ids.withLock { _ = $0.insert(answer.id) }
            return [answer.bytes]
        }
        let lookups = Mutex(0)
        let ttlLookup = TTLLookup(
            client: DNSClient(time: SystemClock()), time: time, settings: { ResolverSettings() }, port: server.port)
        let resolver = Resolver(time: time, ttlLookup: ttlLookup) { _ in
            lookups.withLock { $0 += 1 }
            return .success([Self.four])
        }
        #expect(await self.ttl(resolver, "a.example") == nil, "unknown before the first answer")
        await self.resolve(resolver, "a.example")
        #expect(await self.ttl(resolver, "a.example") == .seconds(Int(seconds)))
        time.advance(by: .seconds(Int(seconds) - 10))
        #expect(await self.ttl(resolver, "a.example") == .seconds(10), "the remaining time, without another question")
        #expect(ids.withLock { $0.count } == 1)
        await self.resolve(resolver, "a.example")
        #expect(lookups.withLock { $0 } == 1)
        time.advance(by: .seconds(10))
        await self.resolve(resolver, "a.example")
        #expect(lookups.withLock { $0 } == 2)
    }

    @Test("Concurrent requests for a name's time to live share one question")
    func shared() async throws {
        let gate = Latch()
        // A repeated question keeps its id.
        let ids = Mutex<Set<UInt16>>([])
        let server = try ScriptedNameServer { query in
            let answer = DNSPacket(to: query, [DNSPacket.record([0xC0, 12], 1, 30, [10, 0, 0, 7])])
            ids.withLock { _ = $0.insert(answer.id) }
            gate.wait()
            return [answer.bytes]
        }
        let resolver = self.resolver(ManualTime(), server)
        await self.resolve(resolver, "a.example")
        await withTaskGroup(of: Duration?.self) { group in
            for _ in 0..<50 { group.addTask { await self.ttl(resolver, "a.example") } }
            while server.datagramCount == 0 { await Task.yield() }
            gate.open()
            for await ttl in group { #expect(ttl == .seconds(30)) }
        }
        #expect(ids.withLock { $0.count } == 1)
    }

    @Test("A time to live that arrives after a path change is not recorded")
    func stale() async throws {
        let gate = Latch()
        let server = try ScriptedNameServer { query in
            gate.wait()
            return [DNSPacket(to: query, [DNSPacket.record([0xC0, 12], 1, 3000, [10, 0, 0, 7])]).bytes]
        }
        let time = ManualTime()
        let resolver = self.resolver(time, server)
        await self.resolve(resolver, "a.example")
        async let ttl = self.ttl(resolver, "a.example")
        while server.datagramCount == 0 { await Task.yield() }
        resolver.invalidate()
        await self.resolve(resolver, "a.example")
        gate.open()
        _ = await ttl
        time.advance(by: .seconds(61))
        #expect(
            await self.ttl(resolver, "a.example") == nil,
            "the new answer is valid for a minute, because its time to live is unknown")
    }
}
