import Foundation
import Testing
import TidegateTestKit

/// A daemon that nobody scrapes, and the receiver that everybody has.
@Suite(
    .enabled(if: ReceiverBench.isInstalled, "prometheus (Debian package prometheus) is not installed"),
    .timeLimit(.minutes(5)))
struct RemoteWriteTests {
    @Test("What the daemon sends is what a scrape finds; an outage and kill -9 in it lose nothing that was kept")
    func sendsAndSurvives() async throws {
        let fixture = try EndToEndFixture()
        let bench = try ReceiverBench(fixture)
        try await bench.startReceiver()
        let first = try bench.startDaemon()
        #expect(
            try await eventually(within: .seconds(20)) { try await bench.points().count >= 2 }, "\(first.errorsSoFar)")
        try await bench.compareWithScrape()

        await bench.endReceiver()
        let down = Date().timeIntervalSince1970
        #expect(try await eventually(within: .seconds(20)) { try await bench.buffered() >= 4 }, "\(first.errorsSoFar)")
        first.signal(SIGKILL)
        _ = await first.finish()
        let killed = Date().timeIntervalSince1970
        let kept = try await bench.buffered()
        let second = try bench.startDaemon()
        #expect(
            try await eventually(within: .seconds(20)) { try await bench.buffered() >= kept + 2 },
            "\(second.errorsSoFar)")
        try await bench.startReceiver()
        let up = Date().timeIntervalSince1970
        let hasCaughtUp = try await eventually(within: .seconds(30)) {
            try await bench.points().contains { $0 > up + 2 }
        }
        #expect(hasCaughtUp, "\(second.errorsSoFar)")
        let points = try await bench.points()
        #expect(points == points.sorted())
        #expect(points.count { $0 > down && $0 < killed } >= kept - 1)
        #expect(points.count { $0 > killed && $0 < up } >= 2)
        let log = second.errorsSoFar
        #expect(log.contains("remote write failed") && log.contains("remote write recovered"), "\(log)")
        #expect(!log.contains("samples dropped"), "\(log)")
        await fixture.tidyUp()
    }
}

/// A daemon that sends every second, and a Prometheus that comes and goes.
private final class ReceiverBench {
    private let fixture: EndToEndFixture
    private let port: UInt16
    private let ownPort: UInt16
    private var receiver: Program?

    static var isInstalled: Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/prometheus")
        }
    }

    init(_ fixture: EndToEndFixture) throws {
        self.fixture = fixture
        (self.port, self.ownPort) = (try ReceiverBench.freePort(), try ReceiverBench.freePort())
        try fixture.write("global: {scrape_interval: 1h}\n", to: "prometheus.yml")
        try fixture.write(
            """
            remote_write:
              url: http://127.0.0.1:\(self.port)/api/v1/write
              interval: 1s
              labels: {instance: end-to-end}

            """, to: "tidegate.yml")
    }

    // A port that was free a moment ago.
    private static func freePort() throws -> UInt16 {
        let probe = try LiveServer { _ in .respond(204) }
        defer { probe.stop() }
        return probe.port
    }

    func startReceiver() async throws {
        self.receiver = try self.fixture.start([
            "prometheus", "--config.file=\(self.fixture.path("prometheus.yml"))",
            "--storage.tsdb.path=\(self.fixture.path("tsdb"))", "--web.listen-address=127.0.0.1:\(self.port)",
            "--web.enable-remote-write-receiver", "--log.level=error",
        ])
        let address = "http://127.0.0.1:\(self.port)/-/ready"
        let isUp = try await eventually(within: .seconds(30)) {
            try await Program.run(["curl", "-sf", "-o", "/dev/null", address]).status == 0
        }
        try #require(isUp, "\(self.receiver?.errorsSoFar ?? "")")
    }

    func endReceiver() async {
        self.receiver?.signal(SIGTERM)
        _ = await self.receiver?.finish()
    }

    func startDaemon() throws -> Program {
        try self.fixture.start([
            BuiltProduct.path(of: "tidegate"), "serve", "--config.file", self.fixture.path("tidegate.yml"),
            "--state.dir", self.fixture.path("state"), "--control.socket", self.fixture.path("control.sock"),
            "--web.listen-address", "127.0.0.1:\(self.ownPort)",
        ])
    }

    /// How many batches are in the queue's file.
    func buffered() async throws -> Int {
        let path = self.fixture.path("state/remote-write/queue.sqlite")
        let query = """
            import sqlite3, sys
            try:
                print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM batch").fetchone()[0])
            except sqlite3.OperationalError:
                print(0)
            """
        return Int(try await Program.expect(["python3", "-c", query, path]).filter(\.isNumber)) ?? 0
    }

    /// When the receiver has samples of the daemon.
    func points() async throws -> [Double] {
        try await self.ask("tidegate_build_info{job=\"tidegate\",instance=\"end-to-end\"}[10m]")
            .flatMap { $0.values ?? [] }.compactMap { $0.first?.number }
    }

    func compareWithScrape() async throws {
        let text = try await Program.expect(["curl", "-sf", "http://127.0.0.1:\(self.ownPort)/metrics"])
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let scraped = Set(lines.map { $0.prefix { $0 != "{" && $0 != " " } }.map(String.init))
        let sent = Set(try await self.ask("{job=\"tidegate\"}").compactMap { $0.metric["__name__"] })
        // The scrape itself is counted, and seen by the next collection only; a life that answered nobody has none.
        #expect(scraped.symmetricDifference(sent).subtracting(["tidegate_http_requests_total"]) == [])
        let started = try await self.ask("process_start_time_seconds").first?.value?.last?.number
        let line = try #require(lines.first { $0.hasPrefix("process_start_time_seconds ") })
        #expect(started == Double(line.split(separator: " ")[1]))
    }

    private func ask(_ expression: String) async throws -> [Entry] {
        let text = try await Program.expect([
            "curl", "-s", "-G", "--data-urlencode", "query=\(expression)", "http://127.0.0.1:\(self.port)/api/v1/query",
        ])
        return try JSONDecoder().decode(Answer.self, from: Data(text.utf8)).data?.result ?? []
    }

    private struct Answer: Decodable {
        let data: Result?

        struct Result: Decodable { let result: [Entry] }
    }

    private struct Entry: Decodable {
        let metric: [String: String]
        let value: [Value]?
        let values: [[Value]]?
    }

    // A time as a number, then a value as a text.
    private struct Value: Decodable {
        let number: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self.number = number
            } else {
                self.number = Double(try container.decode(String.self)) ?? .nan
            }
        }
    }
}
