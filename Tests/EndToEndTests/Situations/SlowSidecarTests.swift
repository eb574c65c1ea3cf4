import Glibc
import Testing
import TidegateCore
import TidegateTestKit

/// What a sidecar says of a network that becomes slow while it runs.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct SlowSidecarTests {
    @Test("A provider that loses packets is named in log, page, status, metrics and incidents, also without IPv4")
    func provider() async throws {
        async let four: Void = self.provider(.ipv4, router: SlowLab.routerAddress) { $0 }
        try await self.provider(.ipv6, router: "fe80::1") { "[\(SlowLab.translated($0))]" }
        try await four
    }

    private func provider(
        _ family: AddressFamily, router: String, host: (String) -> String
    ) async throws {
        let lab = try await SlowLab(family)
        defer { lab.end() }
        let fixture = try EndToEndFixture()
        defer { fixture.end() }
        try fixture.write(
            """
            reachability:
              targets:
                - {name: api, url: "http://\(host(SlowLab.serverAddress))/", interval: 2s}
                - {name: other, url: "http://\(host(SlowLab.otherServerAddress))/", interval: 2s}
            """, to: "c.yml")
        chmod(fixture.path("c.yml"), 0o600)
        let sidecar = try await self.start(fixture, in: lab)
        defer { sidecar.signal(SIGKILL) }
        func get(_ path: String) async throws -> String { try await self.get(path, in: lab) }
        func quality() async throws -> JSONValue { try await self.quality(in: lab) }
        let isWatched = try await eventually { try await quality()["segments"]?.elements.count == 2 }
        #expect(isWatched, "\(sidecar.errorsSoFar)")
        #expect(try await quality()["slow"] == .bool(false))
        (lab.wan.there.loss, lab.wan.back.loss) = (0.2, 0.2)
        let isSlow = try await eventually(within: .seconds(90)) { try await quality()["slow"] == .bool(true) }
        try #require(isSlow, "\(sidecar.errorsSoFar)")
        let network = try #require(try await quality()["network"])
        #expect(network["begins"] == "provider" && network["party"] == "upstream", "\(network)")
        #expect(await eventually { sidecar.errorsSoFar.contains("level=warning msg=slow") })
        let page = try await get("/")
        #expect(page.contains("of packets are lost beyond your router \(router)") && page.contains("id=\"quality\""))
        let metrics = try await get("/metrics")
        #expect(metrics.contains(#"tidegate_segment_degraded{segment="provider",party="upstream"} 1"#), "\(metrics)")
        #expect(metrics.contains(#"tidegate_interface_errors_total{device="lan"} 0"#))
        #expect(metrics.contains(#"tidegate_incident_open{scope="network",kind="degraded",party="upstream"} 1"#))
        let tidegate = BuiltProduct.path(of: "tidegate")
        let status = try await Program.expect(
            lab.client.inside([tidegate, "status", "--json", "--control.socket", fixture.path("sock")]))
        #expect(try JSONValue(parsing: status.utf8)["quality"]?["network"]?["party"] == "upstream", "\(status)")
        let text = try await Program.expect(
            lab.client.inside([tidegate, "status", "--control.socket", fixture.path("sock")]))
        #expect(text.contains("of packets are lost beyond your router \(router), wherever they go, since "), "\(text)")
        let list = lab.client.inside([
            BuiltProduct.path(of: "tidegate"), "incidents", "--json", "--control.socket", fixture.path("sock"),
        ])
        let stored = try await eventualValue {
            try JSONValue(parsing: await Program.expect(list).utf8)["incidents"]?.elements.first {
                $0["kind"] == "degraded"
            }
        }
        let incident = try #require(stored)
        #expect(incident["scope"] == "network", "\(incident)")
        #expect(incident["party"] == "upstream" && incident["certainty"] == "probable", "\(incident)")
        sidecar.signal(SIGTERM)
        #expect(await sidecar.finish().status == 0)
    }

    @Test("What is usual is known immediately after a restart, and is written when the sidecar stops")
    func restart() async throws {
        let lab = try await SlowLab()
        defer { lab.end() }
        let fixture = try EndToEndFixture()
        defer { fixture.end() }
        try fixture.write("{}", to: "c.yml")
        chmod(fixture.path("c.yml"), 0o600)
        // Creates the journal.
        let first = try await self.start(fixture, in: lab)
        first.signal(SIGTERM)
        #expect(await first.finish().status == 0)
        let journal = fixture.path("state") + "/journal.sqlite"
        func python(_ script: String) async throws -> String {
            let head =
                "import json, sqlite3, sys, time; db = sqlite3.connect(sys.argv[1]); now = int(time.time() * 1e6); "
            return try await Program.expect(["python3", "-c", head + script, journal])
        }
        // Known by the link-layer address of the router.
        _ = try await Program.expect(lab.client.inside(["curl", "-s", "http://\(SlowLab.serverAddress)/"]))
        let neighbours = try await Program.expect(lab.client.inside(["ip", "-j", "neigh", "show", "10.0.0.1"]))
        let neighbour = try #require(try JSONValue(parsing: neighbours.utf8).elements.first)
        let router = try #require(neighbour["lladdr"]?.text)
        _ = try await python(
            """
            entry = lambda days, place: {'network': 'lan via 10.0.0.1 \(router)', 'place': place, \
            'learned': now - days * 86_400_000_000, 'microseconds': [3000]}; \
            text = json.dumps([entry(29, '10.0.0.1'), entry(31, '10.0.0.9')]); \
            db.execute("INSERT OR REPLACE INTO quality VALUES ('normals', 0, ?)", (text,)); db.commit()
            """)
        let second = try await self.start(fixture, in: lab)
        let isKnown = try await eventually {
            try await self.quality(in: lab)["segments"]?.elements.first?["normalSeconds"] == .number(0.003)
        }
        #expect(isKnown, "\(second.errorsSoFar)")
        second.signal(SIGTERM)
        #expect(await second.finish().status == 0)
        let kept = try await python(
            "print(*[e['place'] for e in json.loads(db.execute('SELECT text FROM quality').fetchone()[0])])")
        #expect(kept == "10.0.0.1\n")
        _ = try await python("db.execute(\"UPDATE quality SET text = '[1'\"); db.commit()")
        let third = try await self.start(fixture, in: lab)
        third.signal(SIGTERM)
        let end = await third.finish()
        #expect(end.status == 0 && end.errors.contains("msg=\"usual round trips are learned again\""), "\(end.errors)")
    }

    private func start(_ fixture: EndToEndFixture, in lab: SlowLab) async throws -> Program {
        let sidecar = try Program(
            lab.client.inside([
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", fixture.path("c.yml"),
                "--web.listen-address", "127.0.0.1:9595", "--state.dir", fixture.path("state"), "--control.socket",
                fixture.path("sock"),
            ]))
        try await Program.answers("http://127.0.0.1:9595/-/healthy", prefix: lab.client.inside())
        return sidecar
    }

    private func get(_ path: String, in lab: SlowLab) async throws -> String {
        try await Program.expect(lab.client.inside(["curl", "-s", "http://127.0.0.1:9595\(path)"]))
    }

    private func quality(in lab: SlowLab) async throws -> JSONValue {
        try JSONValue(parsing: await self.get("/api/v1/status", in: lab).utf8)["quality"] ?? .null
    }
}
