internal import Foundation

/// A real Prometheus (Debian package prometheus) with a folder of its own, on a port of the loopback address.
package final class Prometheus {
    /// True if the package is installed.
    package static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus")

    /// It did not scrape within a minute.
    package struct NotScraped: Error {}

    private let folder: URL
    private let port: Int
    private let arguments: [String]
    private let prefix: [String]
    private var program: Program?

    /// Starts one with a configuration in YAML, and waits until it is ready.
    ///
    /// `flags` are further arguments; `prefix` starts every command, so that it can run in a network namespace.
    package init(_ configuration: String, flags: [String] = [], prefix: [String] = []) async throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.port = try FreePort.find()
        let file = self.folder.appendingPathComponent("prometheus.yml")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        self.prefix = prefix
        self.arguments =
            [
                "prometheus", "--config.file=\(file.path)", "--storage.tsdb.path=\(self.folder.path)/data",
                "--web.listen-address=127.0.0.1:\(self.port)", "--web.enable-remote-write-receiver",
                "--log.level=error",
            ] + flags
        try await self.start()
    }

    /// Starts one that scrapes a port of the loopback address as the job `tidegate`, every second.
    ///
    /// `jobs` are further entries of `scrape_configs`, `rules` files with rules, evaluated every second; `alertmanager`
    /// is the port of one on the loopback address, `features` are enabled.
    package convenience init(
        scraping target: Int, jobs: [String] = [], rules: [String] = [], alertmanager: Int? = nil,
        features: [String] = [], prefix: [String] = []
    ) async throws {
        let tidegate = "{job_name: tidegate, static_configs: [{targets: [\"127.0.0.1:\(target)\"]}]}"
        let managers = alertmanager.map { "{static_configs: [{targets: [\"127.0.0.1:\($0)\"]}]}" } ?? ""
        try await self.init(
            """
            global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
            rule_files: [\(rules.joined(separator: ", "))]
            alerting: {alertmanagers: [\(managers)]}
            scrape_configs: [\(([tidegate] + jobs).joined(separator: ", "))]
            """, flags: ["--enable-feature=\(features.joined(separator: ","))"], prefix: prefix)
    }

    /// Starts one that only receives remote write.
    package static func receiving() async throws -> Prometheus {
        try await Prometheus("global: {scrape_interval: 1h}\n")
    }

    deinit { self.stop() }

    /// The URL for remote write.
    package var writeURL: String { "http://127.0.0.1:\(self.port)/api/v1/write" }

    /// Starts it again after ``shutDown()``, with the samples that it has.
    package func start() async throws {
        self.program = try Program(self.prefix + self.arguments)
        try await Program.answers("http://127.0.0.1:\(self.port)/-/ready", prefix: self.prefix)
    }

    /// Ends it and keeps its samples.
    package func shutDown() async {
        self.program?.signal(SIGTERM)
        _ = await self.program?.finish()
        self.program = nil
    }

    /// Kills it and removes its samples.
    package func stop() {
        self.program?.signal(SIGKILL)
        self.program = nil
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The series of an instant query's answer; empty if there are none, or if the query is invalid.
    package func query(_ expression: String) async throws -> [PrometheusSeries] {
        try await PrometheusSeries.parse(self.get("query", ["query=\(expression)"]))
    }

    /// The series of a query's answers at every second from one time to another, in seconds since 1970.
    package func query(_ expression: String, from start: Double, to end: Double) async throws -> [PrometheusSeries] {
        let parameters = ["query=\(expression)", "start=\(start)", "end=\(end)", "step=1"]
        return try await PrometheusSeries.parse(self.get("query_range", parameters))
    }

    /// The HTTP API's response, unchanged.
    package func get(_ path: String, _ parameters: [String] = []) async throws -> String {
        let arguments = parameters.flatMap { ["--data-urlencode", $0] }
        return try await Program.expect(
            self.prefix + ["curl", "-s", "-G"] + arguments + ["http://127.0.0.1:\(self.port)/api/v1/\(path)"])
    }

    /// Waits for so many more scrapes of the job `tidegate` that succeed, the latest one included: after one that failed,
    /// for want of a processor most often, every series is stale.
    package func scraped(_ times: Int) async throws {
        let all = "sum_over_time(up{job=\"tidegate\"}[10m])"
        let count = "\(all) and up{job=\"tidegate\"} == 1"
        let before = try await self.query(all).first?.value ?? 0
        let isScraped = try await eventually {
            try await self.query(count).first.map { $0.value >= before + Double(times) } == true
        }
        guard isScraped else { throw NotScraped() }
    }
}

/// A series in Prometheus' answer to a query.
package struct PrometheusSeries: Sendable, Decodable {
    /// The metric; empty for a computed series.
    package let name: String
    /// The labels but for the name, `job` and `instance`.
    package let labels: [String: String]
    /// Times in seconds since 1970 and values, in order; one for an instant query.
    package let points: [(time: Double, value: Double)]

    /// The last value.
    package var value: Double { self.points.last?.value ?? .nan }

    static func parse(_ json: String) throws -> [PrometheusSeries] {
        try JSONDecoder().decode(Answer.self, from: Data(json.utf8)).data?.result ?? []
    }

    /// Decodes an entry of a vector or of a matrix.
    package init(from decoder: any Decoder) throws {
        let entry = try Entry(from: decoder)
        self.name = entry.metric["__name__"] ?? ""
        self.labels = entry.metric.filter { !["__name__", "job", "instance"].contains($0.key) }
        self.points = (entry.values ?? [entry.value ?? []]).compactMap {
            guard let time = $0.first?.number, let value = $0.last?.number else { return nil }
            return (time, value)
        }
    }

    private struct Answer: Decodable {
        let data: Result?

        struct Result: Decodable { let result: [PrometheusSeries] }
    }

    private struct Entry: Decodable {
        let metric: [String: String]
        let value: [Number]?
        let values: [[Number]]?
    }

    // A time is a number, a value is a string.
    private struct Number: Decodable {
        let number: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self.number = number
            } else {
                let text = try container.decode(String.self)
                self.number = Double(text.replacingOccurrences(of: "Inf", with: "inf")) ?? .nan
            }
        }
    }
}
