import Foundation
import Testing
import TidegateTestKit

/// What a sidecar refuses, and what it keeps to itself.
@Suite(.timeLimit(.minutes(5)))
struct SidecarLimitsTests {
    @Test(
        "A probe ends the offset before its scrape does", arguments: [([], "4.5"), (["--timeout-offset", "2"], "3")])
    func timeoutOffset(arguments: [String], limit: String) async throws {
        let daemon = try await ConfiguredDaemon(configuration: "modules: {m: {prober: tcp}}\n", arguments: arguments)
        let port = try #require(await eventualValue { daemon.port })
        let answer = try await Program.expect([
            "curl", "-s", "-H", "X-Prometheus-Scrape-Timeout-Seconds: 5",
            "http://127.0.0.1:\(port)/probe?module=m&target=127.0.0.1:\(port)",
        ])
        #expect(answer.contains("\nprobe_timeout_seconds \(limit)\n"), "\(answer)")
        _ = await daemon.stop()
    }

    @Test("The state directory is no place for a body, and no source of one")
    func state() async throws {
        let daemon = try await ConfiguredDaemon(configuration: "journal: {keep_completed: 1h}\n")
        for option in ["-o", "--upload-file"] {
            let output = try await daemon.submit(option, "\(daemon.path)/state/journal.sqlite")
            #expect(output.status == 2 && output.errors.contains("is in the daemon's state directory"), "\(output)")
        }
        _ = await daemon.stop()
    }

    @Test("Open tasks are bounded, and a known key is still answered")
    func open() async throws {
        let daemon = try await ConfiguredDaemon(configuration: "journal: {max_open_tasks: 1}\n")
        let first = try await daemon.submit("--suspended", "--key", "k")
        #expect(first.status == 0, "\(first)")
        let second = try await daemon.submit("--suspended")
        #expect(second.status == 1 && second.errors.contains("as many as journal.max_open_tasks allows"), "\(second)")
        #expect(try await daemon.submit("--suspended", "--key", "k").output == first.output)
        let answer = try await Program.expect([
            "curl", "-s", "-i", "--unix-socket", "\(daemon.path)/sock", "-H", "Content-Type: application/json", "-d",
            #"{"url":"http://127.0.0.1:9/","suspended":true}"#, "http://localhost/api/v1/tasks",
        ])
        #expect(answer.hasPrefix("HTTP/1.1 429 ") && answer.lowercased().contains("retry-after: 10\r\n"), "\(answer)")
        _ = await daemon.stop()
    }

    @Test(
        "Without a free descriptor tasks and listeners wait, without a spin, and go on when there is one",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func descriptors() async throws {
        let server = try LiveServer { .respond(text: $0.path).then(.close) }
        defer { server.stop() }
        let daemon = try await ConfiguredDaemon(
            configuration:
                "tasks: [{name: a, url: \"\(server.url("/a"))\", every: 1s}]\n",
            descriptors: 90)
        #expect(await eventually { !server.requests.isEmpty })
        let port = try #require(await eventualValue { daemon.port })
        let crowd = HostileClient(HostileClient.tricks[0], port: port, connections: 200)
        let isHeld = await eventually {
            daemon.log.contains("reason=\"no file descriptor is free\"")
        }
        #expect(isHeld, "\(daemon.log.suffix(4000))")
        let before = daemon.processorSeconds
        try await ContinuousClock().sleep(for: .seconds(3))
        // A loop that never waits would use all of the three seconds; swift-nio waits every other second.
        #expect(daemon.processorSeconds - before < 2.5)
        crowd.stop()
        let count = server.requests.count
        #expect(await eventually { server.requests.count > count + 1 })
        let answer = try await Program.run(["curl", "-s", "http://127.0.0.1:\(port)/-/healthy"])
        #expect(answer.output == "Tidegate is healthy.\n", "\(answer)")
        let end = await daemon.stop()
        let log = end.errors
        #expect(end.status == 0, "\(log.suffix(4000))")
        #expect(log.components(separatedBy: "only 90 files and sockets may be open").count == 2, "\(log)")
        #expect(!log.contains("outcome=failure"), "\(log)")
    }

    @Test(
        "Crowds with every trick leave a sidecar no memory, descriptor or thread",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func crowds() async throws {
        // The thread of echoes would start in the middle.
        let daemon = try await ConfiguredDaemon(
            configuration: "quality: {active: false}\n", arguments: ["--log.level", "info"])
        let port = try #require(await eventualValue { daemon.port })
        let before = try daemon.holdings
        var left: [ProcessHoldings] = []
        for round in 0..<5 {
            let crowds = HostileClient.tricks.enumerated().map {
                HostileClient($1, port: port, connections: 52, from: "127.0.0.\($0 + 2)", seed: UInt64(round))
            }
            try await ContinuousClock().sleep(for: .seconds(3))
            let crowded = try daemon.holdings
            #expect(crowded.descriptors > before.descriptors + 100, "\(crowded)")
            for crowd in crowds { crowd.stop() }
            let isGone = try await eventually { try daemon.holdings.descriptors < before.descriptors + 16 }
            #expect(isGone, "before: \(before); \(daemon.log)")
            left.append(try daemon.holdings)
        }
        // The heap is trimmed each minute; 3 KB a connection would show.
        let isTrimmed = try await eventually {
            try daemon.holdings.memory < before.memory + 8 << 20
        }
        #expect(isTrimmed, "before: \(before), between: \(left)")
        // The last connections of a crowd may still have been open when it was gone.
        let most = left.map(\.descriptors).min() ?? 0
        let isClosed = try await eventually { try daemon.holdings.descriptors <= most }
        let end = try daemon.holdings
        #expect(isClosed && end.threads <= left[0].threads, "between: \(left), after: \(end)")
        _ = await daemon.stop()
    }
}
