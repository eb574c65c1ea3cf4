internal import Foundation
internal import TidegateTestKit

/// A real Alertmanager on the loopback address, with the inhibitions that the runbook advises.
struct Alertmanager {
    let port: Int
    private let program: Program

    /// Starts one that posts every alert to `address`, and waits until it answers.
    init(notifying address: String, in folder: URL) async throws {
        self.port = try FreePort.find()
        let configuration = """
            route: {receiver: hook, group_by: [alertname], group_wait: 2s, group_interval: 1s, repeat_interval: 1h}
            receivers: [{name: hook, webhook_configs: [{url: "\(address)"}]}]

            """
        let file = folder.appendingPathComponent("alertmanager.yml")
        try (configuration + Self.inhibitions()).write(to: file, atomically: true, encoding: .utf8)
        self.program = try Program([
            "prometheus-alertmanager", "--config.file=\(file.path)", "--storage.path=\(folder.path)/alertmanager",
            "--web.listen-address=127.0.0.1:\(self.port)", "--cluster.listen-address=", "--log.level=error",
        ])
        try await Program.answers("http://127.0.0.1:\(self.port)/-/ready")
    }

    func stop() { self.program.signal(SIGKILL) }

    /// True while the alert is there and another one keeps it from being told.
    func isSuppressed(_ name: String) async throws -> Bool {
        let text = try await Program.expect([
            "curl", "-s", "-G", "--data-urlencode", "filter=alertname=\"\(name)\"",
            "http://127.0.0.1:\(self.port)/api/v2/alerts",
        ])
        let alerts = try JSONDecoder().decode([Alert].self, from: Data(text.utf8))
        return !alerts.isEmpty
            && alerts.allSatisfy { $0.status.state == "suppressed" && !$0.status.inhibitedBy.isEmpty }
    }

    private static func inhibitions() throws -> String {
        let file = Dashboard.folder.deletingLastPathComponent().appendingPathComponent("docs/metrics.md")
        let blocks = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```yaml\n").dropFirst()
        return blocks.compactMap { $0.components(separatedBy: "```").first }.joined()
    }

    private struct Alert: Decodable {
        let status: Status

        struct Status: Decodable {
            let state: String
            let inhibitedBy: [String]
        }
    }
}
