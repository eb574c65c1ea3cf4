import Foundation
import Testing
import TidegateTestKit

/// The slow network of other tests, checked with echo requests and downloads.
@Suite(
    .serialized, .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct SlowLabTests {
    /// The median round trip of 20 echo requests of the client, in milliseconds.
    private func median(
        _ address: String, in lab: SlowLab, every interval: Duration = .milliseconds(10)
    ) async throws -> Double {
        let echoes = try await Echoes.send(20, to: address, from: lab.client, every: interval, patience: .seconds(3))
        return try #require(echoes.median, "no answer from \(address)") / .milliseconds(1)
    }

    /// Asserts that a median round trip is within 5 ms of the wanted one.
    private func expect(
        _ wanted: Double, to address: String, in lab: SlowLab, at place: SourceLocation = #_sourceLocation
    ) async throws {
        let median = try await self.median(address, in: lab)
        #expect(abs(median - wanted) < 5, "\(median) ms instead of \(wanted) to \(address)", sourceLocation: place)
    }

    @Test("Round trips are those of the links, and change with one of them")
    func roundTrips() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        try await self.expect(1, to: SlowLab.routerAddress, in: lab)
        try await self.expect(11, to: SlowLab.providerAddress, in: lab)
        try await self.expect(31, to: SlowLab.serverAddress, in: lab)
        try await self.expect(31, to: SlowLab.otherServerAddress, in: lab)
        lab.far.there.delay = .milliseconds(40)
        try await self.expect(61, to: SlowLab.serverAddress, in: lab)
        try await self.expect(31, to: SlowLab.otherServerAddress, in: lab)
        lab.link.back.delay = .milliseconds(20)
        try await self.expect(20.5, to: SlowLab.routerAddress, in: lab)
        try await self.expect(80.5, to: SlowLab.serverAddress, in: lab)
    }

    @Test("Loss between router and provider loses its share there and nothing before it, the same with the same seed")
    func loss() async throws {
        var lost: [[Int]] = []
        for _ in 0..<2 {
            let lab = try await SlowLab(seed: 42)
            defer { lab.end() }
            lab.wan.there.loss = 0.1
            let far = try await Echoes.send(
                200, to: SlowLab.providerAddress, from: lab.client, every: .milliseconds(3),
                patience: .milliseconds(300))
            #expect((6...40).contains(far.lost.count), "\(far.lost)")
            #expect(lab.wan.counts.there.lost == far.lost.count)
            let near = try await Echoes.send(
                200, to: SlowLab.routerAddress, from: lab.client, every: .milliseconds(1))
            #expect(near.lost == [])
            lost.append(far.lost)
        }
        #expect(lost[0] == lost[1])
    }

    @Test("A download through a slow link with a long queue delays the provider's answers, and not the router's")
    func queue() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        lab.wan.back.bitsPerSecond = 4_000_000
        lab.wan.back.queueBytes = 250_000
        try await self.expect(11, to: SlowLab.providerAddress, in: lab)
        let download = try Program(
            lab.client.inside(["curl", "-s", "-o", "/dev/null", self.url("/bytes?n=100000000")]))
        defer { download.signal(SIGKILL) }
        let isFull = await eventually { lab.wan.counts.back.overflowed > 0 }
        #expect(isFull, "the queue never fills: \(lab.wan.counts)")
        async let provider = self.median(SlowLab.providerAddress, in: lab, every: .milliseconds(50))
        async let router = self.median(SlowLab.routerAddress, in: lab, every: .milliseconds(50))
        let (far, near) = (try await provider, try await router)
        #expect(far > 200, "\(far) ms")
        #expect(near < 5, "\(near) ms")
        // A full queue takes half a second.
        #expect(far < 600, "\(far) ms")
    }

    @Test("Reordering lets answers overtake, and jitter alone does not")
    func reordering() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        func echoes() async throws -> Echoes {
            try await Echoes.send(200, to: SlowLab.providerAddress, from: lab.client, every: .milliseconds(1))
        }
        lab.wan.there.jitter = .milliseconds(10)
        let ordered = try await echoes()
        #expect(ordered.overtaken == 0 && ordered.lost == [])
        lab.wan.there.reordering = 0.3
        let reordered = try await echoes()
        #expect(reordered.overtaken > 40 && reordered.lost == [], "\(reordered.overtaken)")
    }

    @Test("The servers and the name server answer with the requested sizes and delays")
    func servers() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let root = try await self.get(self.url("/"), in: lab)
        #expect(root.code == 200 && root.bytes == 2 && (0.06..<0.2).contains(root.seconds), "\(root)")
        let slow = try await self.get("http://\(SlowLab.otherServerAddress)/slow?ms=300", in: lab)
        #expect(slow.code == 200 && (0.36..<0.6).contains(slow.seconds), "\(slow)")
        let large = try await self.get(self.url("/bytes?n=1000001"), in: lab)
        #expect(large.code == 200 && large.bytes == 1_000_001, "\(large)")
        let named = try await self.get("http://any.example/", in: lab)
        #expect(named.code == 200 && (0.03..<0.15).contains(named.lookup), "\(named)")
        lab.nameServer.delay = .milliseconds(250)
        let late = try await self.get("http://any.example/", in: lab)
        #expect(late.code == 200 && (0.28..<0.5).contains(late.lookup), "\(late)")
    }

    @Test("A sidecar on the client reaches both servers")
    func sidecar() async throws {
        let (lab, fixture) = (try await SlowLab(), try EndToEndFixture())
        defer {
            fixture.end()
            lab.end()
        }
        let targets = [("near", SlowLab.serverAddress), ("other", SlowLab.otherServerAddress)].map {
            "{name: \($0), host: \($1), port: 80, interval: 1s, timeout: 1s}"
        }
        let daemon = try await fixture.startDaemon(
            """
            reachability:
              sentinels: {ipv4: [\(SlowLab.serverAddress)]}
              targets: [\(targets.joined(separator: ", "))]
            """, prefix: lab.client.inside())
        let isReached = try await eventually {
            try await daemon.metrics().sum("tidegate_target_reachable") == 2
        }
        #expect(isReached, "\(daemon.log)")
        await daemon.stop()
    }

    private struct Fetched {
        let code: Int
        let bytes: Int
        let lookup: Double
        let seconds: Double
    }

    private func url(_ path: String) -> String { "http://\(SlowLab.serverAddress)\(path)" }

    private func get(_ url: String, in lab: SlowLab) async throws -> Fetched {
        let format = "%{http_code} %{size_download} %{time_namelookup} %{time_total}"
        let output = try await Program.expect(
            lab.client.inside(["curl", "-s", "-o", "/dev/null", "-w", format, "--max-time", "30", url]))
        let numbers = output.split(separator: " ").compactMap { Double($0) }
        try #require(numbers.count == 4, "\(output)")
        return Fetched(code: Int(numbers[0]), bytes: Int(numbers[1]), lookup: numbers[2], seconds: numbers[3])
    }
}
