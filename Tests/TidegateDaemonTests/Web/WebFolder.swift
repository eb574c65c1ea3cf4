internal import Foundation
internal import Tidegate
internal import TidegateTestKit

@testable import TidegateDaemon

/// A folder with a `web.yml`, a certificate and its key.
final class WebFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-web-\(UUID().uuidString)").path
    let authority: TestAuthority

    var file: String { "\(self.path)/web.yml" }

    init() async throws {
        self.authority = try await TestAuthority()
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try self.put(try await self.authority.sign(["localhost"]), "")
        try self.put(try await self.authority.sign(["other.example"]), "other-")
        try FileManager.default.copyItem(atPath: self.authority.certificate, toPath: "\(self.path)/ca.pem")
        try self.write("nothing\n", to: "text.pem")
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func put(_ identity: TestAuthority.Identity, _ prefix: String) throws {
        for (from, to) in [(identity.certificate, "cert.pem"), (identity.key, "key.pem")] {
            try self.write(try String(contentsOfFile: from, encoding: .utf8), to: prefix + to)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: "\(self.path)/\(prefix)\(to)")
        }
    }

    /// Writes over what is there, as an editor may do.
    func write(_ text: String, to name: String = "web.yml") throws {
        try text.write(toFile: "\(self.path)/\(name)", atomically: false, encoding: .utf8)
    }

    func look() -> WebFile { WebFile(self.file, at: SystemClock().wall()) }

    /// What is wrong with a `web.yml` of this text, with the folder's path as `DIR`; nil where nothing is.
    func complaint(about text: String) throws -> String? {
        try self.write(text)
        guard case .failure(let error) = self.look().result else { return nil }
        return error.description.replacingOccurrences(of: self.path, with: "DIR")
    }
}
