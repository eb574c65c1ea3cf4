import Foundation
import Testing
import TidegateTestKit

/// A sidecar on the lab's client, with targets and scheduled tasks.
struct Sidecar {
    let lab: SituationLab
    private let daemon: RunningDaemon

    fileprivate init(_ lab: SituationLab, _ configuration: String, addsAuthority: Bool) throws {
        self.lab = lab
        let folder = try lab.files.makeFolder()
        let name = "tidegate.yml"
        try lab.files.write(configuration, to: name)
        let client = lab.namespace(.client)
        let program = try Program(
            lab.files.onClient(
                client,
                [
                    BuiltProduct.path(of: "tidegate"), "serve", "--config.file", lab.files.path(name), "--state.dir",
                    folder, "--control.socket", "\(folder)/c.sock",
                ], addsAuthority: addsAuthority))
        self.daemon = RunningDaemon(program: program, port: 9843, prefix: client.inside())
    }

    /// Targets and tasks of every kind.
    fileprivate static func configuration(checkingInternet: Bool) -> String {
        """
        reachability:
          targets:
            - \(SidecarTarget.all.map(\.configuration).joined(separator: "\n    - "))
          internet_check: {enabled: \(checkingInternet), urls: ["http://203.0.113.24:8089/"], interval: 10s}
        tasks:
          - {name: byName, url: "\(Situations.page)", \(Self.schedule)}
          - {name: byAddress, url: "http://203.0.113.10/", \(Self.schedule)}
        """
    }

    private static let schedule = "every: 1s, jitter: 0%, timeout: 2s, retry: {attempts: 1}"

    /// What it has logged.
    var log: String { self.daemon.log }

    fileprivate func waitUntilReady() async throws {
        try await Program.answers(self.daemon.url("/-/ready"), prefix: self.daemon.prefix)
    }

    fileprivate func stop() async { await self.daemon.stop() }

    // MARK: What it says

    func get(_ path: String) async throws -> String { try await self.daemon.get(path) }

    /// The bodies of several paths, which one program asks for one after another.
    func get(_ paths: [String]) async throws -> [String] {
        let urls = paths.dropLast().map(self.daemon.url)
        let text = try await self.daemon.get(paths.last ?? "/", ["-w", "\u{1}"] + urls)
        return text.split(separator: "\u{1}", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// The page; looking at it has the ladder measured, too.
    func page() async throws -> SidecarPage { SidecarPage(try await self.get("/")) }

    func metrics() async throws -> Samples { try await self.daemon.metrics() }

    /// What it has measured last; nil before the first time.
    func diagnosis() async throws -> SituationAnswer? {
        struct Status: Decodable { var diagnosis: SituationAnswer? }
        return try JSONDecoder().decode(Status.self, from: Data(try await self.get("/api/v1/status").utf8)).diagnosis
    }

    /// A target of `/api/v1/targets`.
    struct Target: Decodable {
        struct Failure: Decodable { var reason, party, text, advice, since: String }

        var name: String
        var reached: Bool?
        var lastFailure: Failure?
        var checkingSince: String?
    }

    func target(_ name: String) async throws -> Target? {
        struct Targets: Decodable { var targets: [Target] }
        let text = try await self.get("/api/v1/targets")
        return try JSONDecoder().decode(Targets.self, from: Data(text.utf8)).targets.first { $0.name == name }
    }

    /// How many of the scheduled tasks have failed, by whose failure it was.
    func failuresByParty() async throws -> [String: Double] {
        let metrics = try await self.metrics()
        return Dictionary(
            uniqueKeysWithValues: ["mine", "gateway", "upstream", "resolver", "path", "theirs", "unknown"].map {
                ($0, metrics.sum("tidegate_task_failures_total", containing: "party=\"\($0)\""))
            })
    }

    /// The levels that each scope has had since the start, in order, by its log.
    var levelChanges: [String: [String]] {
        self.log.split(separator: "\n").filter { $0.contains("path changed") }.reduce(into: [:]) { levels, line in
            let fields = line.split(separator: " ").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            let values = Dictionary(fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { first, _ in first }
            guard let scope = values["target"] ?? values["scope"], let level = values["to"] else { return }
            levels[scope, default: values["from"].map { [$0] } ?? []].append(level)
        }
    }
}

extension SituationLab {
    /// Runs a sidecar on the client for as long as `body` runs.
    func withSidecar(checkingInternet: Bool, _ body: (Sidecar) async throws -> Void) async throws {
        try await self.withSidecar(Sidecar.configuration(checkingInternet: checkingInternet), body)
    }

    /// Runs a sidecar with a configuration; `addsAuthority` if it trusts the lab's.
    func withSidecar(
        _ configuration: String, addsAuthority: Bool = false, _ body: (Sidecar) async throws -> Void
    ) async throws {
        let sidecar = try Sidecar(self, configuration, addsAuthority: addsAuthority)
        do {
            try await sidecar.waitUntilReady()
            try await body(sidecar)
        } catch {
            Issue.record("\(error): \(sidecar.log)")
        }
        await sidecar.stop()
    }
}
