import Foundation
import Glibc
import TidegateCore
import TidegateTestKit

/// The daemon inside a namespace, as a user without privileges.
final class ObservingDaemon {
    private let folder: String
    private let namespace: NetworkNamespace
    private let program: Program
    private let port: Int

    /// Starts it with a configuration, and with a command that starts commands, such as one that refuses system calls.
    init(in namespace: NetworkNamespace, _ configuration: String, by starter: [String] = []) async throws {
        let folder = "/tmp/tidegate-\(namespace.name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try configuration.write(toFile: "\(folder)/c.yml", atomically: true, encoding: .utf8)
        chown(folder, 65_534, 65_534)
        let program = try Program(
            [
                "ip", "netns", "exec", namespace.name,
            ] + starter + [
                "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", "\(folder)/c.yml",
                "--web.listen-address", "127.0.0.1:0", "--state.dir", "\(folder)/state", "--control.socket",
                "\(folder)/sock",
            ])
        let port = await eventualValue {
            program.errorsSoFar.firstMatch(of: /msg=listening address=127\.0\.0\.1:([0-9]+)/).flatMap { Int($0.1) }
        }
        guard let port else { throw TextError("the daemon did not start: \(program.errorsSoFar)") }
        (self.folder, self.namespace, self.program, self.port) = (folder, namespace, program, port)
    }

    deinit {
        self.program.signal(SIGCONT)
        self.program.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Sends it a signal.
    func signal(_ number: Int32) { self.program.signal(number) }

    /// Its samples by name and labels.
    func metrics() async throws -> [String: Double] {
        let text = try await Program.expect([
            "ip", "netns", "exec", self.namespace.name, "curl", "-sf", "http://127.0.0.1:\(self.port)/metrics",
        ])
        var samples: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let blank = line.lastIndex(of: " ") else { continue }
            samples[String(line[..<blank])] = Double(line[line.index(after: blank)...])
        }
        return samples
    }

    /// How much memory it has written to, in bytes (RssAnon in proc_pid_status(5)).
    var memoryBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(self.program.id)/status", encoding: .utf8)) ?? ""
        let kilobytes = text.firstMatch(of: /RssAnon:\s+([0-9]+) kB/).flatMap { Int($0.1) }
        return (kilobytes ?? 0) * 1024
    }
}
