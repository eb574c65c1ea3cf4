import Synchronization
import Testing
import TidegateCore
@testable import TidegateNetwork
import TidegateTestKit

/// The resolver with a scripted lookup.
@Suite struct ResolverTests {
    private static let answer = IPAddress(ipv4: 0xC000_0201)

    private func ask(_ resolver: Resolver, _ name: String) async -> Result<[IPAddress], ResolveFailure> {
        await withCheckedContinuation { waiter in resolver.resolve(name) { waiter.resume(returning: $0) } }
    }

    @Test("An address resolves to itself without a lookup")
    func literal() async {
        let resolver = Resolver(time: ManualTime()) { _ in .failure(.failed) }
        #expect(await self.ask(resolver, "192.0.2.1") == .success([Self.answer]))
        #expect(resolver.cached("192.0.2.1") == [Self.answer])
    }

    @Test("A name below localhost is this host's, without a server", arguments: ["app.localhost", "A.B.LocalHost"])
    func localhost(_ name: String) throws {
        let addresses = try SystemLookup.resolve(name).get()
        #expect(addresses == [try #require(IPAddress("127.0.0.1")), try #require(IPAddress("::1"))])
    }

    @Test("Concurrent requests for a name share one lookup")
    func singleFlight() async {
        let lookups = Counter()
        let gate = Latch()
        let resolver = Resolver(time: ManualTime()) { _ in
            lookups.add()
            gate.wait()
            return .success([Self.answer])
        }
        await withTaskGroup(of: Result<[IPAddress], ResolveFailure>.self) { group in
            for _ in 0..<100 { group.addTask { await self.ask(resolver, "api.example.com") } }
            // Every request has to be queued before the first lookup ends.
            while lookups.value == 0 { await Task.yield() }
            gate.open()
            for await result in group { #expect(result == .success([Self.answer])) }
        }
        #expect(lookups.value == 1)
    }

    @Test("At most eight names are looked up at a time")
    func limit() async {
        let atOnce = Counter()
        let resolver = Resolver(time: ManualTime()) { _ in
            atOnce.enter()
            defer { atOnce.leave() }
            // Long enough for the other threads to start their lookups.
            for _ in 0..<200 { Latch.yieldThread() }
            return .success([Self.answer])
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { _ = await self.ask(resolver, "host\(number).example.com") }
            }
        }
        #expect(atOnce.highest <= 8)
        #expect(atOnce.highest > 1)
    }

    @Test("An answer is valid for its time, then the name is looked up again")
    func freshness() async {
        let lookups = Counter()
        let time = ManualTime()
        let resolver = Resolver(time: time) { _ in
            lookups.add()
            return .success([Self.answer])
        }
        _ = await self.ask(resolver, "a.example")
        time.advance(by: .seconds(59))
        _ = await self.ask(resolver, "a.example")
        #expect(lookups.value == 1)
        time.advance(by: .seconds(2))
        _ = await self.ask(resolver, "a.example")
        #expect(lookups.value == 2)
        resolver.invalidate()
        #expect(resolver.cached("a.example") == [Self.answer])
        _ = await self.ask(resolver, "a.example")
        #expect(lookups.value == 3)
    }

    @Test("A request after a path change does not wait for a lookup from before")
    func staleLookup() async {
        let lookups = Mutex(0)
        let gate = Latch()
        let resolver = Resolver(time: ManualTime()) { _ in
            let isFirst = lookups.withLock { number in
                number += 1
                return number == 1
            }
            guard isFirst else { return .success([Self.answer]) }
            gate.wait()
            return .success([IPAddress(ipv4: 0xC000_0299)])
        }
        let answers = Mutex<[Result<[IPAddress], ResolveFailure>]>([])
        resolver.resolve("a.example") { answer in answers.withLock { $0.append(answer) } }
        while lookups.withLock({ $0 }) == 0 { await Task.yield() }
        resolver.invalidate()
        #expect(await self.ask(resolver, "a.example") == .success([Self.answer]))
        #expect(answers.withLock { $0 } == [.success([Self.answer])])
        gate.open()
        #expect(await self.ask(resolver, "b.example") == .success([Self.answer]))
        #expect(await self.ask(resolver, "a.example") == .success([Self.answer]))
        #expect(resolver.cached("a.example") == [Self.answer])
        #expect(lookups.withLock { $0 } == 3)
    }

    @Test("Without an answer for both families the answer for one is used, and the cache gets the whole one later")
    func oneFamily() async {
        let (time, gate) = (ManualTime(), Latch())
        let six = IPAddress(ipv6: 0x2001_0DB8 << 32, 1)
        let resolver = Resolver(
            time: time,
            lookup: { _ in
                gate.wait()
                return .success([six, Self.answer])
            }, familyLookup: { $1 == .ipv4 ? .success([Self.answer]) : .failure(.timedOut) })
        let answers = Mutex<[Result<[IPAddress], ResolveFailure>]>([])
        resolver.resolve("a.example") { answer in answers.withLock { $0.append(answer) } }
        while answers.withLock({ $0.isEmpty }) {
            time.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(answers.withLock { $0 } == [.success([Self.answer])])
        gate.open()
        while resolver.cached("a.example")?.count != 2 { await Task.yield() }
        #expect(resolver.cached("a.example") == [six, Self.answer])
    }

    @Test("A full cache drops its oldest answer")
    func capacity() async {
        let time = ManualTime()
        let resolver = Resolver(time: time, capacity: 3) { _ in .success([Self.answer]) }
        for name in ["a.example", "b.example", "c.example", "d.example"] {
            _ = await self.ask(resolver, name)
            time.advance(by: .seconds(1))
        }
        #expect(resolver.cached("a.example") == nil)
        #expect(resolver.cached("b.example") == [Self.answer])
        #expect(resolver.cached("d.example") == [Self.answer])
    }

    @Test("A failure is not cached")
    func failures() async {
        let lookups = Counter()
        let resolver = Resolver(time: ManualTime()) { _ in
            lookups.add()
            return .failure(.nameNotFound)
        }
        #expect(await self.ask(resolver, "a.example") == .failure(.nameNotFound))
        #expect(await self.ask(resolver, "a.example") == .failure(.nameNotFound))
        #expect(lookups.value == 2)
        #expect(resolver.cached("a.example") == nil)
    }

    @Test("The system's lookup uses the hosts file")
    func system() async throws {
        let answer = try await self.ask(Resolver(time: ManualTime()), "localhost").get()
        #expect(!answer.isEmpty && answer.allSatisfy { $0.isLoopback })
    }
}

private final class Counter: Sendable {
    private let state = Mutex<(value: Int, now: Int, highest: Int)>((0, 0, 0))

    var value: Int { self.state.withLock { $0.value } }
    var highest: Int { self.state.withLock { $0.highest } }
    func add() { self.state.withLock { $0.value += 1 } }
    func leave() { self.state.withLock { $0.now -= 1 } }

    func enter() {
        self.state.withLock {
            $0.now += 1
            $0.highest = max($0.highest, $0.now)
        }
    }
}
