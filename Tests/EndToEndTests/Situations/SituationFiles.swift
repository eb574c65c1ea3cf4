import Foundation
import TidegateTestKit

/// The files of the lab: what the client reads below `/etc`, certificates, and the configuration of the servers.
final class SituationFiles: Sendable {
    struct Certificates: Sendable {
        let good: TestAuthority.Identity
        let expired: TestAuthority.Identity
        let wrongName: TestAuthority.Identity
        let selfSigned: TestAuthority.Identity
    }

    let authority: TestAuthority
    let certificates: Certificates
    private let folder: URL

    init() async throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.authority = try await TestAuthority()
        self.certificates = Certificates(
            good: try await self.authority.sign(["www.example", "slow.example", "reset.example"]),
            expired: try await self.authority.sign(["expired.example"], .past),
            wrongName: try await self.authority.sign(["other.example"]),
            selfSigned: try await self.authority.selfSigned("selfsigned.example"))
        try self.setResolvers(["203.0.113.53"])
        try self.setHosts("")
        try FileManager.default.createDirectory(atPath: self.path("added"), withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: self.authority.certificate, toPath: self.path("added/example-corp.crt"))
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func path(_ name: String) -> String { self.folder.appendingPathComponent(name).path }

    // Written in place: a new file would not be the one that is mounted. It is never empty, which would be a finding.
    func write(_ text: String, to name: String) throws {
        guard let file = FileHandle(forUpdatingAtPath: self.path(name)) else {
            return try text.write(toFile: self.path(name), atomically: false, encoding: .utf8)
        }
        try file.write(contentsOf: Data(text.utf8))
        try file.truncate(atOffset: UInt64(text.utf8.count))
        try file.close()
    }

    /// A new folder that belongs to the unprivileged user.
    func makeFolder() throws -> String {
        // A path of a socket in it has room for 107 bytes.
        let path = self.path("\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o700, .ownerAccountID: 65534], ofItemAtPath: path)
        return path
    }

    func setResolvers(_ servers: [String], searching domains: [String] = []) throws {
        let search = domains.isEmpty ? "" : "search \(domains.joined(separator: " "))\n"
        try self.write(search + servers.map { "nameserver \($0)\n" }.joined(), to: "resolv.conf")
    }

    func setHosts(_ line: String) throws {
        try self.write("127.0.0.1 localhost\n::1 localhost\n\(line)\n", to: "hosts")
    }

    /// The command that runs a program on the client as an unprivileged user, with these files below `/etc`.
    ///
    /// - Parameter addsAuthority: Whether the lab's authority is one that the client's administrator has added.
    func onClient(_ namespace: NetworkNamespace, _ command: [String], addsAuthority: Bool = false) -> [String] {
        let authority = """
            mount --bind '\(self.authority.certificate)' /etc/ssl/certs/ca-certificates.crt &&
            mount --bind '\(self.path("added"))' /usr/local/share/ca-certificates &&
            """
        let script = """
            \(addsAuthority ? authority : "")
            mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && shift 2 &&
            exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" "$@"
            """
        return [
            "ip", "netns", "exec", namespace.name, "sh", "-c", script, "sh", self.path("resolv.conf"),
            self.path("hosts"),
        ] + command
    }
}
