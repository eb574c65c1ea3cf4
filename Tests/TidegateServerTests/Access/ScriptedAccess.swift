internal import Foundation
internal import Synchronization
internal import TidegateTestKit

@testable import TidegateServer

/// A policy that a test changes.
final class ScriptedAccess: AccessSource {
    private let access: Mutex<Access>

    init(_ policy: AccessPolicy = AccessPolicy()) throws { self.access = Mutex(try Access(policy)) }

    func use(_ policy: AccessPolicy) throws {
        let access = try Access(policy)
        self.access.withLock { $0 = access }
    }

    func current() -> Access { self.access.withLock { $0 } }
}

extension AccessPolicy {
    /// Encrypts with an authority's certificate; `change` says more.
    static func encrypted(
        _ identity: TestAuthority.Identity, _ change: (inout TLSServing) throws -> Void = { _ in }
    ) throws -> AccessPolicy {
        var serving = TLSServing(
            certificate: try String(contentsOfFile: identity.certificate, encoding: .utf8),
            key: try String(contentsOfFile: identity.key, encoding: .utf8))
        try change(&serving)
        var policy = AccessPolicy()
        policy.tls = serving
        return policy
    }
}

/// curl against an endpoint on the loopback address that calls itself `localhost`.
struct Curl {
    let authority: TestAuthority
    let port: Int

    /// The exit code, and what was answered with its head.
    func get(_ path: String = "/-/healthy", _ options: String...) async throws -> Program.Output {
        try await Program.run(
            ["curl", "-si", "--max-time", "30", "--cacert", self.authority.certificate] + options + [
                "https://localhost:\(self.port)\(path)"
            ])
    }

    /// The status of the answer; 0 where there was none.
    func status(_ path: String = "/-/healthy", _ options: String...) async throws -> Int {
        let output = try await Program.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "30"]
                + ["--cacert", self.authority.certificate] + options + ["https://localhost:\(self.port)\(path)"])
        return Int(output.output) ?? 0
    }
}
