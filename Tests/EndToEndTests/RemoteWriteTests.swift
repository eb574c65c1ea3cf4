import Foundation
import Testing
import TidegateTestKit

/// A daemon that Prometheus does not scrape, and the usual receiver.
@Suite(
    .enabled(if: Prometheus.isInstalled, "prometheus (Debian package prometheus) is not installed"),
    .timeLimit(.minutes(5)))
struct RemoteWriteTests {
    @Test("What the daemon sends is what a scrape finds; an outage and kill -9 in it lose nothing that was kept")
    func sendsAndSurvives() async throws {
        let fixture = try EndToEndFixture()
        let bench = try await ReceiverBench(fixture)
        let first = try await bench.startDaemon()
        #expect(
            try await eventually { try await bench.points().count >= 2 }, "\(first.log)")
        try await bench.compare(withScrapesOf: first)

        await bench.receiver.shutDown()
        let down = Date().timeIntervalSince1970
        #expect(try await eventually { try await bench.buffered() >= 4 }, "\(first.log)")
        first.program.signal(SIGKILL)
        _ = await first.program.finish()
        let killed = Date().timeIntervalSince1970
        let kept = try await bench.buffered()
        let second = try await bench.startDaemon()
        #expect(
            try await eventually { try await bench.buffered() >= kept + 2 },
            "\(second.log)")
        try await bench.receiver.start()
        let up = Date().timeIntervalSince1970
        let hasCaughtUp = try await eventually {
            try await bench.points().contains { $0 > up + 2 }
        }
        #expect(hasCaughtUp, "\(second.log)")
        let points = try await bench.points()
        #expect(points == points.sorted())
        #expect(points.count { $0 > down && $0 < killed } >= kept - 1)
        #expect(points.count { $0 > killed && $0 < up } >= 2)
        let log = second.log
        #expect(log.contains("remote write failed") && log.contains("remote write recovered"), "\(log)")
        #expect(!log.contains("samples dropped"), "\(log)")
    }
}

/// A daemon that sends every second, and a Prometheus that comes and goes.
private final class ReceiverBench {
    private let fixture: EndToEndFixture
    private let port: Int
    let receiver: Prometheus

    init(_ fixture: EndToEndFixture) async throws {
        self.fixture = fixture
        self.port = try FreePort.find()
        self.receiver = try await Prometheus.receiving()
    }

    func startDaemon() async throws -> RunningDaemon {
        let url = self.receiver.writeURL
        return try await self.fixture.startDaemon(
            "remote_write: {url: \"\(url)\", interval: 1s, labels: {instance: end-to-end}}\n", port: self.port)
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
        try await self.receiver.query("tidegate_build_info{job=\"tidegate\",instance=\"end-to-end\"}[10m]")
            .flatMap { $0.points.map(\.time) }
    }

    /// The daemon's series and what it says of its own start are the receiver's, too.
    func compare(withScrapesOf daemon: RunningDaemon) async throws {
        let first = try await Self.scrape(daemon)
        // A scrape is counted, and seen by the next collection only.
        var sent: Set<String> = []
        let hasArrived = try await eventually {
            sent = Set(try await self.receiver.query("{job=\"tidegate\"}").map(\.name))
            return sent.contains("tidegate_http_requests_total") && sent.isSuperset(of: first.names)
        }
        #expect(hasArrived, "not sent: \(first.names.subtracting(sent))")
        // Series appear while a daemon works; a scrape now shows every series that was sent before.
        let last = try await Self.scrape(daemon)
        #expect(sent.subtracting(last.names) == [])
        let started = try await self.receiver.query("process_start_time_seconds").first?.value
        let line = try #require(last.lines.first { $0.hasPrefix("process_start_time_seconds ") })
        #expect(started == Double(line.split(separator: " ")[1]))
    }

    private static func scrape(_ daemon: RunningDaemon) async throws -> (lines: [Substring], names: Set<String>) {
        let lines = try await daemon.get("/metrics").split(separator: "\n").filter { !$0.hasPrefix("#") }
        return (lines, Set(lines.map { $0.prefix { $0 != "{" && $0 != " " } }.map(String.init)))
    }
}
