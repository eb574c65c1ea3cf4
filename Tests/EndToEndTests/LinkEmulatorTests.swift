import Testing
import TidegateTestKit

/// Links between two hosts of their own, with frames of the kernel.
@Suite(
    .serialized, .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct LinkEmulatorTests {
    private static let here = "10.0.0.1"
    private static let there = "10.0.0.2"

    /// Two hosts with one link.
    private struct Pair {
        let near: NetworkNamespace
        let far: NetworkNamespace
        let link: EmulatedLink

        init(_ emulator: LinkEmulator) throws {
            (self.near, self.far) = (try NetworkNamespace("a"), try NetworkNamespace("b"))
            for host in [self.near, self.far] { try host.sysctl("net.ipv6.conf.all.disable_ipv6=1") }
            self.link = try emulator.link(a: (self.near, "e0"), b: (self.far, "e0"))
            try self.near.ip("addr add \(LinkEmulatorTests.here)/24 dev e0")
            try self.far.ip("addr add \(LinkEmulatorTests.there)/24 dev e0")
        }

        func echoes(_ count: Int, patience: Duration = .milliseconds(300)) async throws -> Echoes {
            try await Echoes.send(
                count, to: LinkEmulatorTests.there, from: self.near, every: .milliseconds(2), patience: patience)
        }
    }

    @Test("The seed decides which frames are lost, and every frame is counted")
    func seeds() async throws {
        var lost: [[Int]] = []
        for seed in [7, 7, 8] as [UInt64] {
            let emulator = try LinkEmulator(seed: seed)
            defer { emulator.stop() }
            let pair = try Pair(emulator)
            pair.link.there.loss = 0.1
            let echoes = try await pair.echoes(200)
            lost.append(echoes.lost)
            let counts = pair.link.counts
            #expect(counts.there.lost == echoes.lost.count && counts.back.lost == 0, "\(counts)")
            // With the question and the answer of ARP.
            #expect(counts.there.carried == echoes.answers.count + 1, "\(counts)")
            #expect(counts.back.carried == echoes.answers.count + 1, "\(counts)")
        }
        #expect((5...40).contains(lost[0].count), "\(lost[0])")
        #expect(lost[0] == lost[1])
        #expect(lost[0] != lost[2])
    }

    @Test("A shape holds for the frames after it, in its direction only")
    func shapes() async throws {
        let emulator = try LinkEmulator()
        defer { emulator.stop() }
        let pair = try Pair(emulator)
        for (there, back) in [(0, 0), (40, 0), (40, 20), (0, 20)] {
            pair.link.there.delay = .milliseconds(there)
            pair.link.back.delay = .milliseconds(back)
            let median = try #require(try await pair.echoes(20).median) / .milliseconds(1)
            #expect(abs(median - Double(there + back)) < 5, "\(median) ms instead of \(there) + \(back)")
        }
        pair.link.back.loss = 1
        #expect(try await pair.echoes(20).answers.isEmpty)
        #expect(pair.link.counts.back.lost == 20 && pair.link.counts.there.lost == 0)
    }

    @Test("A deleted device stops its link and no other one")
    func deletedDevice() async throws {
        let emulator = try LinkEmulator()
        defer { emulator.stop() }
        let (pair, other) = (try Pair(emulator), try Pair(emulator))
        #expect(try await pair.echoes(5).lost == [])
        try pair.far.ip("link delete e0")
        let busy = emulator.busy
        #expect(try await pair.echoes(5).answers.isEmpty)
        #expect(try await other.echoes(5).lost == [])
        // A descriptor that stays ready would keep the thread busy for the 300 ms that the missing answers take.
        #expect(emulator.busy - busy < .milliseconds(50), "\(emulator.busy - busy)")
    }
}
