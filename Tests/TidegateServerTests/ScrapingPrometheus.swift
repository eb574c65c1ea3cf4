internal import Foundation
internal import TidegateTestKit

/// A real Prometheus on the loopback address that scrapes one port every second.
struct ScrapingPrometheus {
    /// A sample of an instant query's answer.
    struct Sample {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    private let program: Program
    private let folder: URL
    private let port: Int

    /// Starts one that scrapes `target`, and waits until it answers.
    ///
    /// `jobs` are further entries of `scrape_configs`, `rules` files with rules, looked at every second;
    /// `alertmanager` is the port of one on the loopback address, `features` what is to be enabled.
    init(
        target: Int, jobs: [String] = [], rules: [String] = [], alertmanager: Int? = nil, features: [String] = []
    ) async throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.port = try FreePort.find()
        let tidegate = "{job_name: tidegate, static_configs: [{targets: [\"127.0.0.1:\(target)\"]}]}"
        let managers = alertmanager.map { "{static_configs: [{targets: [\"127.0.0.1:\($0)\"]}]}" } ?? ""
        let configuration = """
            global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
            rule_files: [\(rules.joined(separator: ", "))]
            alerting: {alertmanagers: [\(managers)]}
            scrape_configs: [\(([tidegate] + jobs).joined(separator: ", "))]
            """
        let file = self.folder.appendingPathComponent("prometheus.yml")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        self.program = try Program([
            "prometheus", "--config.file=\(file.path)", "--storage.tsdb.path=\(self.folder.path)/data",
            "--web.listen-address=127.0.0.1:\(self.port)", "--log.level=error",
            "--enable-feature=\(features.joined(separator: ","))",
        ])
        let address = "http://127.0.0.1:\(self.port)/-/ready"
        _ = try await eventually(within: .seconds(60)) {
            try await Program.run(["curl", "-sf", "-o", "/dev/null", address]).status == 0
        }
    }

    func stop() {
        self.program.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The answer to an instant query; empty where Prometheus finds nothing or objects.
    func query(_ expression: String) async throws -> [Sample] {
        let text = try await self.get("query", ["query=\(expression)"])
        return try JSONDecoder().decode(Answer.self, from: Data(text.utf8)).data?.result.map(\.sample) ?? []
    }

    /// What the HTTP API answers, as it is.
    func get(_ path: String, _ parameters: [String]) async throws -> String {
        let arguments = parameters.flatMap { ["--data-urlencode", $0] }
        return try await Program.expect(
            ["curl", "-s", "-G"] + arguments + ["http://127.0.0.1:\(self.port)/api/v1/\(path)"])
    }

    /// Waits for so many more scrapes of the endpoint.
    func scraped(_ times: Int) async throws {
        let count = "count_over_time(up{job=\"tidegate\"}[10m])"
        let before = try await self.query(count).first?.value ?? 0
        let isScraped = try await eventually(within: .seconds(60)) {
            try await self.query(count).first.map { $0.value >= before + Double(times) } == true
        }
        guard isScraped else { throw NotScraped() }
    }

    private struct Answer: Decodable {
        let data: Result?

        struct Result: Decodable { let result: [Entry] }

        struct Entry: Decodable {
            let metric: [String: String]
            let value: [Value]

            var sample: Sample {
                var labels = self.metric
                for own in ["__name__", "job", "instance"] { labels[own] = nil }
                return Sample(
                    name: self.metric["__name__"] ?? "", labels: labels, value: self.value.last?.number ?? .nan)
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
                    let text = try container.decode(String.self)
                    self.number = Double(text.replacingOccurrences(of: "Inf", with: "inf")) ?? .nan
                }
            }
        }
    }
}

/// A port that was free a moment ago.
enum FreePort {
    enum Failure: Error { case none }

    static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
            }
        }
        guard status == 0 else { throw Failure.none }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
