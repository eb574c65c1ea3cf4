import Foundation
import TidegateTestKit

/// A real Prometheus that receives remote write on the loopback address; it can be shut down and started again.
final class ReceivingPrometheus {
    private let directory: TestDirectory
    private let port: UInt16
    private var program: Program?

    static var isInstalled: Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/prometheus")
        }
    }

    /// Starts one, and waits until it is ready.
    init() async throws {
        self.directory = try TestDirectory()
        // A port that was free a moment ago.
        let probe = try LiveServer { _ in .respond(204) }
        self.port = probe.port
        probe.stop()
        try "global: {scrape_interval: 1h}\n".write(
            toFile: self.directory.path + "/prometheus.yml", atomically: true, encoding: .utf8)
        try await self.start()
    }

    var url: String { "http://127.0.0.1:\(self.port)/api/v1/write" }

    func start() async throws {
        self.program = try Program([
            "prometheus", "--config.file=\(self.directory.path)/prometheus.yml",
            "--storage.tsdb.path=\(self.directory.path)/data", "--web.listen-address=127.0.0.1:\(self.port)",
            "--web.enable-remote-write-receiver", "--log.level=error",
        ])
        let address = "http://127.0.0.1:\(self.port)/-/ready"
        _ = try await eventually(within: .seconds(30)) {
            try await Program.run(["curl", "-sf", "-o", "/dev/null", address]).status == 0
        }
    }

    func shutDown() async {
        self.program?.signal(SIGTERM)
        _ = await self.program?.finish()
        self.program = nil
    }

    func stop() { self.program?.signal(SIGKILL) }

    /// The current values, by series without the label `job`.
    func query(_ expression: String) async throws -> [String: Double] {
        var values: [String: Double] = [:]
        for entry in try await self.query(json: expression).data?.result ?? [] {
            guard let value = entry.value?.last?.number else { continue }
            values[entry.key] = value
        }
        return values
    }

    /// Every stored sample of the last ten minutes.
    func points(of series: String) async throws -> [(time: Double, value: Double)] {
        try await self.query(json: "\(series)[10m]").data?.result.first?.values?.compactMap {
            guard let time = $0.first?.number, let value = $0.last?.number else { return nil }
            return (time, value)
        } ?? []
    }

    private func query(json expression: String) async throws -> Response {
        let text = try await Program.expect([
            "curl", "-s", "-G", "--data-urlencode", "query=\(expression)", "http://127.0.0.1:\(self.port)/api/v1/query",
        ])
        return try JSONDecoder().decode(Response.self, from: Data(text.utf8))
    }

    private struct Response: Decodable {
        let data: Result?

        struct Result: Decodable { let result: [Entry] }

        struct Entry: Decodable {
            let metric: [String: String]
            let value: [Value]?
            let values: [[Value]]?

            var key: String {
                var labels = self.metric
                labels["__name__"] = nil
                labels["job"] = nil
                return SeriesKey.key(self.metric["__name__"] ?? "", labels)
            }
        }

        // A time as a number, then a value as a string.
        struct Value: Decodable {
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
}
