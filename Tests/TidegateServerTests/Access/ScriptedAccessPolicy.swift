internal import Foundation
internal import Synchronization
internal import TidegateTestKit

@testable import TidegateServer

/// An access policy that a test changes.
final class ScriptedAccessPolicy: AccessPolicyLoader {
    private let policy: Mutex<LoadedAccessPolicy>

    init(_ policy: AccessPolicy = AccessPolicy()) throws { self.policy = Mutex(try LoadedAccessPolicy(policy)) }

    func use(_ policy: AccessPolicy) throws {
        let policy = try LoadedAccessPolicy(policy)
        self.policy.withLock { $0 = policy }
    }

    func currentPolicy() -> LoadedAccessPolicy { self.policy.withLock { $0 } }
}

extension AccessPolicy {
    /// A policy with TLS and a certificate that an authority has signed; `change` sets other options.
    static func encrypted(
        _ identity: TestAuthority.Identity, _ change: (inout TLSServerConfiguration) throws -> Void = { _ in }
    ) throws -> AccessPolicy {
        var tls = TLSServerConfiguration()
        tls.certificate = try String(contentsOfFile: identity.certificate, encoding: .utf8)
        tls.key = try String(contentsOfFile: identity.key, encoding: .utf8)
        try change(&tls)
        var policy = AccessPolicy()
        policy.tls = tls
        return policy
    }
}

/// curl against an endpoint on the loopback address that calls itself `localhost`.
struct Curl {
    let authority: TestAuthority
    let port: Int

    /// The exit code, and the response with its head.
    func get(_ path: String = "/-/healthy", _ options: String...) async throws -> (
        status: Int32, output: String, errors: String
    ) {
        let result = try await Program.run(
            ["curl", "-si", "--max-time", "30", "--cacert", self.authority.certificate] + options + [
                "https://localhost:\(self.port)\(path)"
            ])
        return (result.status, result.output, result.errors)
    }

    /// The status of the response; 0 if there was none.
    func status(_ path: String = "/-/healthy", _ options: String...) async throws -> Int {
        let output = try await Program.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "30"]
                + ["--cacert", self.authority.certificate] + options + ["https://localhost:\(self.port)\(path)"])
        return Int(output.output) ?? 0
    }
}
