import Foundation
import Testing
import TidegateTestKit

/// The main job: two downloads, a cable that is pulled for five seconds, and all the reports afterwards.
@Suite(.serialized, .enabled(if: QuietMachine.isAvailable, "needs a quiet machine")) struct CutCableTests {
    private static let size = 64 << 20
    private static let outage = Duration.seconds(5)
    // A link that is down with its address still there is given this long before the attempt is detached.
    private static let grace = 2.0

    @Test("A cable pulled for five seconds costs five seconds, no byte twice and no failed attempt")
    func cutCable() async throws {
        let (bench, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { bench.end() }
        try await Program.expect(["dd", "if=/dev/urandom", "of=\(bench.path("image.bin"))", "bs=1M", "count=64"])
        let digest = try await self.digest(bench.path("image.bin"))
        try await bench.startNginx(on: hosts, rate: "5m")
        let serve = try await self.startDaemon(bench, hosts)
        let prometheus = try await Prometheus(scraping: 9843, prefix: hosts.onThisSide([]))
        try #require(
            await eventually { try await serve.metrics()["tidegate_tasks{state=\"running\"}"] == 1 },
            "the scheduled task does not run: \(serve.log)")
        let fetch = try bench.start(
            hosts.onThisSide([
                BuiltProduct.path(of: "tidegate"), "fetch", "http://\(TwoHosts.peer)/image.bin", "-o",
                bench.path("fetched.bin"), "--write-out", "json", "--progress", "plain",
            ]))
        try #require(
            await eventually { bench.size(of: ".fetched.bin.tidegate") > 8 << 20 },
            "fetch does not move: \(fetch.errorsSoFar)")

        let start = ContinuousClock.now
        try hosts.pullCable()
        try await Task.sleep(for: Self.outage)
        try hosts.plugCable()
        let outage = (ContinuousClock.now - start) / .seconds(1)

        let output = await fetch.finish()
        #expect(output.status == 0, "\(output.errors)")
        try self.check(fetchObject: output.output, errors: output.errors, outage: outage)
        let isDone = try await eventually {
            try await serve.metrics()["tidegate_task_completions_total{kind=\"download\",outcome=\"success\"}"] == 1
        }
        #expect(isDone, "\(serve.log)")
        for file in ["fetched.bin", "scheduled.bin"] {
            #expect(try await self.digest(bench.path(file)) == digest, "\(file) differs")
        }
        try self.check(accessLog: bench.read("access.log"))
        let samples = try await serve.metrics()
        self.check(samples, outage: outage)
        try await self.check(prometheus, samples)
        await serve.stop()
    }

    private func startDaemon(_ bench: EndToEndFixture, _ hosts: TwoHosts) async throws -> RunningDaemon {
        try await bench.startDaemon(
            """
            reachability:
              targets: [{name: origin, host: \(TwoHosts.peer), port: 80}]
            tasks:
              - name: image
                url: http://\(TwoHosts.peer)/image.bin
                every: 1h
                jitter: 0%
                download: \(bench.path("scheduled.bin"))
            """, prefix: hosts.onThisSide([]))
    }

    private func check(fetchObject text: String, errors: String, outage: Double) throws {
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
        #expect(text.hasPrefix("{\"schema\":1,"))
        #expect(object["outcome"] as? String == "success")
        #expect(object["bytes"] as? Int == Self.size)
        #expect(object["wireBytes"] as? Int == Self.size)
        #expect(object["refetchedBytes"] as? Int == 0)
        #expect(object["attempts"] as? Int == 1, "\(text)\n\(errors)")
        let held = try #require((object["heldSeconds"] as? [String: Double])?["path"])
        #expect(abs(held - (outage - Self.grace)) < 2, "held for \(held) s")
    }

    // Two requests each: the first is cut, the second continues where it was cut.
    private func check(accessLog: String) throws {
        let lines = accessLog.split(separator: "\n").filter { $0.contains("/image.bin") }
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.filter { $0.contains(" 206 ") && $0.contains("bytes=") }.count == 2)
        // What the server had sent and the cut swallowed is sent again; what had arrived is not.
        let served = lines.compactMap { Int($0.split(separator: " ")[3]) }.reduce(0, +)
        #expect(served >= 2 * Self.size)
    }

    private func check(_ samples: Samples, outage: Double) {
        #expect(samples["tidegate_task_holds_total{reason=\"path\"}"] == 1)
        let held = samples["tidegate_task_held_seconds_total{reason=\"path\"}"] ?? 0
        #expect(abs(held - (outage - Self.grace)) < 2, "held for \(held) s")
        #expect(samples.sum("tidegate_task_failures_total") == 0)
        #expect(samples.sum("tidegate_task_retries_total") == 0)
        #expect(samples.sum("tidegate_refetched_bytes_total") == 0)
        #expect(samples["tidegate_received_bytes_total{kind=\"download\"}"] == Double(Self.size))
        // Nothing answers beyond the other host, and a sidecar that has looked says so.
        #expect(samples["tidegate_reachability_level{level=\"limited\"}"] == 1)
    }

    private func check(_ prometheus: Prometheus, _ samples: Samples) async throws {
        let series = [
            "tidegate_task_holds_total{reason=\"path\"}", "tidegate_received_bytes_total{kind=\"download\"}",
            "tidegate_task_held_seconds_total{reason=\"path\"}",
            "tidegate_task_completions_total{kind=\"download\",outcome=\"success\"}",
        ]
        for name in series {
            let isSame = try await eventually { try await prometheus.query(name).first?.value == samples[name] }
            #expect(isSame, "\(name): \(String(describing: samples[name])) here")
        }
    }

    private func digest(_ file: String) async throws -> Substring? {
        try await Program.expect(["sha256sum", file]).split(separator: " ").first
    }
}
