import Glibc
import Testing
import TidegateCore
import TidegateTestKit

/// What `explain` says of a target that works, in a network that is slow or lossy in one place.
@Suite(
    .serialized, .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct SlowExplainTests {
    /// One thing that is wrong, and what is right to say.
    private struct Situation: Sendable {
        let name: String
        var url = "http://\(SlowLab.serverAddress)/"
        /// Nil if nothing is slow.
        let begins: String?
        var party: String?
        /// How long it is measured.
        var seconds = 3
        let change: @Sendable (SlowLab) throws -> Void
    }

    private static func lossy(_ link: EmulatedLink, _ loss: Double) {
        link.there.loss = loss
        link.back.loss = loss
    }

    private static func dropEchoes(_ lab: SlowLab) throws {
        try ThreeHosts.filter(
            lab.client, "table ip deaf { chain in { type filter hook input priority 0; icmp type echo-reply drop; }; }")
    }

    private static let situations = [
        Situation(name: "nothing is wrong", begins: nil) { _ in },
        Situation(name: "the cable loses packets", begins: "router", party: "unknown") { Self.lossy($0.link, 0.08) },
        Situation(name: "the provider's line loses packets", begins: "provider", party: "upstream", seconds: 6) {
            Self.lossy($0.wan, 0.12)
        },
        Situation(
            name: "the network before the server loses packets", url: "http://\(SlowLab.serverAddress)/slow?ms=400",
            begins: "path", party: "unknown"
        ) { Self.lossy($0.far, 0.08) },
        Situation(name: "the router answers few echoes", begins: nil) { lab in
            try lab.router.run([
                "nft",
                "table ip few { chain out { type filter hook output priority 0; "
                    + "icmp type echo-reply numgen random mod 2 0 drop; }; }",
            ])
        },
        Situation(
            name: "no host answers echoes, and the server answers late",
            url: "http://\(SlowLab.serverAddress)/slow?ms=1200", begins: "server", party: "theirs"
        ) { try Self.dropEchoes($0) },
        Situation(name: "no host answers echoes, and packets are lost", begins: nil) {
            Self.lossy($0.wan, 0.05)
            try Self.dropEchoes($0)
        },
        Situation(name: "the cable is slow", begins: "router", party: "unknown") {
            $0.link.there.delay = .milliseconds(200)
        },
        Situation(name: "the provider's line is slow", begins: "provider", party: "unknown") {
            $0.wan.back.delay = .milliseconds(300)
        },
        Situation(name: "the server is far away", begins: nil) { $0.far.there.delay = .milliseconds(200) },
        Situation(
            name: "the server answers late", url: "http://\(SlowLab.serverAddress)/slow?ms=1200", begins: "server",
            party: "theirs"
        ) { _ in },
        Situation(name: "the resolver answers late", url: "http://slow.test/", begins: "resolver", party: "resolver") {
            $0.nameServer.delay = .milliseconds(400)
        },
    ]

    @Test("The trouble begins where it was made, and its party is right; what is not slow is not called slow")
    func situations() async throws {
        // A few at a time: they mostly wait, and too many would make this host too busy to measure.
        for first in stride(from: 0, to: Self.situations.count, by: 3) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for situation in Self.situations[first...].prefix(3) {
                    group.addTask { try await self.check(situation) }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Without IPv4 the trouble begins in the same places")
    func ipv6Only() async throws {
        let names = ["nothing is wrong", "the cable loses packets", "the provider's line is slow"]
        let chosen = Self.situations.filter { names.contains($0.name) }
        #expect(chosen.count == names.count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for situation in chosen { group.addTask { try await self.check(situation, .ipv6) } }
            try await group.waitForAll()
        }
    }

    private func check(_ situation: Situation, _ family: AddressFamily = .ipv4) async throws {
        let lab = try await SlowLab(family)
        defer { lab.end() }
        try situation.change(lab)
        let server = "[\(SlowLab.translated(SlowLab.serverAddress))]"
        let url = family == .ipv4 ? situation.url : situation.url.replacing(SlowLab.serverAddress, with: server)
        let (text, json) = try await self.explain(lab, url, for: situation.seconds)
        if family == .ipv6 { #expect(json["segments"]?.elements.first?["address"] == "fe80::1") }
        #expect(json["begins"] == .optional(situation.begins), "\(situation.name): \(text)")
        #expect(json["party"] == .optional(situation.party), "\(situation.name): \(text)")
        #expect(json["slow"] == .bool(situation.begins != nil), "\(situation.name): \(text)")
    }

    private func explain(
        _ lab: SlowLab, _ url: String, for seconds: Int = 3
    ) async throws -> (text: String, quality: JSONValue) {
        let command = lab.client.inside([BuiltProduct.path(of: "tidegate"), "explain", "--for", "\(seconds)s", url])
        let output = try await Program(command + ["--json"]).finish()
        let json = try JSONValue(parsing: output.output.utf8)
        #expect(output.status == 0 && json["party"] == .null, "the target works: \(output.output)")
        return (output.output, json["quality"] ?? .null)
    }

    @Test("Of a target that works and is not slow nothing is measured")
    func quick() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let output = try await Program(
            lab.client.inside([BuiltProduct.path(of: "tidegate"), "explain", "http://\(SlowLab.serverAddress)/"])
        ).finish()
        #expect(output.output.hasPrefix("http://203.0.113.2/ works: 200 in "), "\(output.output)")
        #expect(!output.output.contains("loss"))
    }

    @Test("People get the place, the party, the advice and the figures; --brief is one sentence")
    func text() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        Self.lossy(lab.wan, 0.12)
        let command = lab.client.inside([
            BuiltProduct.path(of: "tidegate"), "explain", "--for", "6s", "http://\(SlowLab.serverAddress)/",
        ])
        let text = try await Program(command).finish().output
        let lines = text.split(separator: "\n").map(String.init)
        #expect(text.replacing("\n", with: " ").contains("of packets are lost beyond your router 10.0.0.1"), "\(text)")
        #expect(
            lines.contains("slow at    beyond your router") && lines.contains("whose      your provider"), "\(text)")
        let rows = lines.filter { $0.hasSuffix("your router") && $0.hasPrefix("10.0.0.1 ") }
        #expect(rows.count == 1 && rows[0].contains(" 0 % "), "\(text)")
        #expect(lines.last == "Not known because of that: the path to the server, the server.", "\(text)")
        let brief = try await Program(command + ["--brief"]).finish().output
        #expect(brief.hasPrefix("Slow: ") && brief.hasSuffix("wherever they go.\n"), "\(brief)")
    }

    @Test("A shaper of this host's own that its programs fill is this host's, and not the router's")
    func ownShaper() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        try lab.client.run([
            "tc", "qdisc", "add", "dev", "lan", "root", "tbf", "rate", "2mbit", "burst", "4kb", "limit", "60kb",
        ])
        // 3 Mbit/s to a port on which nothing listens.
        let sender = try lab.client.start([
            "python3", "-c",
            """
            import socket, time
            sender, next = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()
            while True:
                sender.sendto(b"x" * 1200, ("\(SlowLab.otherServerAddress)", 9))
                next += 1228 * 8 / 3e6
                time.sleep(max(0, next - time.monotonic()))
            """,
        ])
        defer { sender.stop() }
        let isFound = try await eventually {
            let (_, quality) = try await self.explain(lab, "http://\(SlowLab.serverAddress)/")
            return quality["cause"] == "ownQueueDrops" && quality["begins"] == "thisHost" && quality["party"] == "mine"
        }
        #expect(isFound)
    }

    @Test("An interrupt ends a long measurement, and what was measured until then is printed")
    func interrupt() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let program = try Program(
            lab.client.inside([
                BuiltProduct.path(of: "tidegate"), "explain", "--for", "5m", "http://\(SlowLab.serverAddress)/",
            ]))
        #expect(await eventually { lab.far.counts.there.carried > 100 })
        program.signal(SIGINT)
        let output = await program.finish()
        #expect(output.status == 130)
        let row = try #require(output.output.split(separator: "\n").first { $0.hasPrefix("203.0.113.2 ") }, "\(output)")
        #expect(row.contains(" 0 % ") && row.hasSuffix("the server"), "\(row)")
    }

    @Test("A full line is said to be this host's own or the provider's while this host fills it")
    func ownTraffic() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        (lab.wan.back.bitsPerSecond, lab.wan.back.queueBytes) = (4_000_000, 250_000)
        let download = try lab.client.start([
            "curl", "-s", "-o", "/dev/null", "http://\(SlowLab.otherServerAddress)/bytes?n=200000000",
        ])
        defer { download.stop() }
        let isFull = try await eventually {
            let (_, quality) = try await self.explain(lab, "http://\(SlowLab.serverAddress)/")
            return quality["cause"] == "delayBehind" && quality["party"] == "unknown"
        }
        #expect(isFull)
    }
}
