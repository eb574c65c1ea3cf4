import Foundation
import Testing
import TidegateTestKit

/// The program that Debian calls prometheus-blackbox-exporter.
enum BlackboxExporter {
    static let path = "/usr/bin/prometheus-blackbox-exporter"
    /// The file of modules that comes with it.
    static let configuration = "/etc/prometheus/blackbox.yml"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: self.path) }
}

/// blackbox_exporter and tidegate with the same modules, to be asked for the same probes.
struct BlackboxComparison {
    /// Series that measure time.
    private static let measured = [
        "probe_duration_seconds", "probe_dns_lookup_time_seconds", "probe_http_duration_seconds",
        "probe_dns_duration_seconds", "probe_icmp_duration_seconds", "probe_grpc_duration_seconds",
    ]

    /// Labels that only the newer program has, as newer versions of blackbox_exporter do.
    private static let addedLabels = ["probe_ssl_last_chain_info": "serialnumber"]

    private let bench: EndToEndFixture
    private let ports: (older: Int, newer: Int)
    // What runs the requests to both programs, in a namespace.
    private let prefix: [String]

    /// Starts both programs with a file of modules, and with further variables of the environment.
    ///
    /// `place` is the prefix of a command that runs them, and the requests to them, in a namespace.
    init(_ modules: String, environment: [String: String] = [:], place: [String] = []) async throws {
        self.bench = try EndToEndFixture()
        self.ports = (try FreePort.find(), try FreePort.find())
        self.prefix = place
        let prefix = place + ["env"] + environment.map { "\($0)=\($1)" }
        _ = try await self.bench.startDaemon(modules, port: self.ports.newer, prefix: prefix)
        _ = try self.bench.start(
            prefix + [
                BlackboxExporter.path, "--config.file=\(self.bench.path("tidegate.yml"))",
                "--web.listen-address=127.0.0.1:\(self.ports.older)",
            ])
        try await Program.answers("http://127.0.0.1:\(self.ports.older)/-/healthy", prefix: place)
    }

    /// Gives both programs another file, which they do not read by themselves.
    func write(_ modules: String) throws {
        try self.bench.write(modules, to: "tidegate.yml")
    }

    func stop() { self.bench.end() }

    /// Expects every series of the older program from the newer one, with the same value unless it is a time.
    ///
    /// - Returns: The newer program's.
    @discardableResult
    func compare(
        _ module: String, _ target: String, exceptValuesOf own: [String] = [], without missing: [String] = [],
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> [String: String] {
        let expected = try await self.samples(module, target, port: self.ports.older)
        let found = try await self.samples(module, target, port: self.ports.newer)
        #expect(!expected.isEmpty, sourceLocation: location)
        for (series, value) in expected {
            if missing.contains(series) {
                #expect(found[series] == nil, "\(module) \(target): \(series)", sourceLocation: location)
                continue
            }
            let isMeasured = own.contains(series) || Self.measured.contains { series.hasPrefix($0) }
            #expect(
                isMeasured ? found[series] != nil : found[series] == value,
                "\(module) \(target): \(series) is \(found[series] ?? "missing"), not \(value)",
                sourceLocation: location)
        }
        return found
    }

    /// The series that measure time, in seconds; nil if a program has none.
    func times(_ module: String, _ target: String) async throws -> [String: (older: Double?, newer: Double?)] {
        let older = try await self.samples(module, target, port: self.ports.older)
        let newer = try await self.samples(module, target, port: self.ports.newer)
        let names = older.keys.filter { name in Self.measured.contains { name.hasPrefix($0) } }
        return names.reduce(into: [:]) { $0[$1] = (older[$1].flatMap(Double.init), newer[$1].flatMap(Double.init)) }
    }

    /// What both programs answer to a request: the status and the text.
    func answers(
        _ path: String, _ arguments: [String]
    ) async throws -> (older: (status: Int, text: String), newer: (status: Int, text: String)) {
        func answer(_ port: Int) async throws -> (status: Int, text: String) {
            let output = try await Program.expect(
                self.prefix + ["curl", "-s", "-w", "\n%{http_code}"] + arguments + ["http://127.0.0.1:\(port)\(path)"])
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
        }
        return (try await answer(self.ports.older), try await answer(self.ports.newer))
    }

    // Lines without comments; labels that were added are left out.
    private func samples(_ module: String, _ target: String, port: Int) async throws -> [String: String] {
        let output = try await Program.expect(
            self.prefix + [
                "curl", "-s", "-f", "-G", "--data-urlencode", "module=\(module)", "--data-urlencode",
                "target=\(target)",
                "http://127.0.0.1:\(port)/probe",
            ])
        var samples: [String: String] = [:]
        for line in output.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            var series = String(line[..<space])
            for (name, label) in Self.addedLabels where series.hasPrefix(name) {
                series = series.replacing(try Regex(",?\(label)=\"[^\"]*\""), with: "")
            }
            let labels = series.drop { $0 != "{" }.dropFirst().dropLast()
            let sorted =
                labels.isEmpty
                ? "" : "{\(labels.split(separator: "\",").map(String.init).sorted().joined(separator: "\","))}"
            samples[series.prefix { $0 != "{" } + sorted] = String(line[space...].dropFirst())
        }
        return samples
    }
}
