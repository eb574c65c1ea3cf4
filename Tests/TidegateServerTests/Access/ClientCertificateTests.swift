import Foundation
import Testing
import TidegateTestKit

@testable import TidegateServer

/// Who has to show a certificate, and which.
@Suite(.serialized, .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
struct ClientCertificateTests {
    private struct Parties {
        let server: TestAuthority
        let identity: TestAuthority.Identity
        let clients: TestAuthority
        let guest: TestAuthority.Identity
        let stranger: TestAuthority.Identity
        let expired: TestAuthority.Identity

        init() async throws {
            self.server = try await TestAuthority()
            self.clients = try await TestAuthority()
            self.identity = try await self.server.sign(["localhost"])
            self.guest = try await self.clients.sign([
                "guest.example", "IP:192.0.2.7", "URI:spiffe://x/y", "email:a@b.c",
            ])
            self.stranger = try await self.server.selfSigned("guest.example")
            self.expired = try await self.clients.sign(["guest.example"], .past)
        }

        func policy(_ client: TLSServerConfiguration.ClientCertificate, names: Set<String>? = nil) throws
            -> AccessPolicy
        {
            try .encrypted(self.identity) { tls in
                tls.clientCertificate = client
                tls.allowedClientNames = names
                let verifies = client == .verifiedIfGiven || client == .requiredAndVerified
                if verifies {
                    tls.clientAuthorities = try String(contentsOfFile: self.clients.certificate, encoding: .utf8)
                }
            }
        }
    }

    @Test("Each of the five client authentication types accepts the right clients")
    func ways() async throws {
        let parties = try await Parties()
        let source = try ScriptedAccessPolicy(try parties.policy(.none))
        // Without a certificate, with one of the authority, with one of another authority, with an old one.
        let expected: [TLSServerConfiguration.ClientCertificate: [Bool]] = [
            .none: [true, true, true, true], .requested: [true, true, true, true],
            .required: [false, true, true, true], .verifiedIfGiven: [true, true, false, false],
            .requiredAndVerified: [false, true, false, false],
        ]
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: parties.server, port: port)
            for client in TLSServerConfiguration.ClientCertificate.allCases {
                try source.use(try parties.policy(client))
                let identities = [nil, parties.guest, parties.stranger, parties.expired]
                for (identity, isLetIn) in zip(identities, try #require(expected[client])) {
                    for version in ["--tlsv1.2", "--tlsv1.3"] {
                        let status = try await curl.status(as: identity, version)
                        #expect(status == (isLetIn ? 200 : 0), "\(client) \(identity?.key ?? "nobody") \(version)")
                    }
                }
            }
        }
    }

    @Test(
        "A client certificate needs one of the allowed names, of any kind",
        arguments: [
            ("guest.example", true), ("192.0.2.7", true), ("spiffe://x/y", true), ("a@b.c", true),
            ("GUEST.example", false), ("example", false), ("192.0.2.70", false),
        ])
    func names(_ name: String, _ isLetIn: Bool) async throws {
        let parties = try await Parties()
        let source = try ScriptedAccessPolicy(
            try parties.policy(.requiredAndVerified, names: ["nobody.example", name]))
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: parties.server, port: port)
            let status = try await curl.status(as: parties.guest)
            #expect(status == (isLetIn ? 200 : 0))
            // The name alone does not help.
            #expect(try await curl.status(as: parties.stranger) == 0)
            #expect(try await curl.status(as: nil) == 0)
        }
    }

    @Test("An unverified certificate is accepted if any is, and if it has the name")
    func anyWithName() async throws {
        let parties = try await Parties()
        let source = try ScriptedAccessPolicy(try parties.policy(.required, names: ["guest.example"]))
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: parties.server, port: port)
            #expect(try await curl.status(as: parties.stranger) == 200)
            let other = try await parties.clients.sign(["other.example"])
            #expect(try await curl.status(as: other) == 0)
            #expect(try await curl.status(as: nil) == 0)
        }
    }

    @Test("A resumed TLS session keeps the client's identity")
    func resumed() async throws {
        let parties = try await Parties()
        let source = try ScriptedAccessPolicy(try parties.policy(.requiredAndVerified, names: ["guest.example"]))
        try await Fixture().serving(source) { port in
            let session = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: session) }
            let connect = "timeout 60 openssl s_client -connect localhost:\(port) -tls1_2 -quiet"
            let ask = "printf 'GET /-/healthy HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'"
            let known = "-cert \(parties.guest.certificate) -key \(parties.guest.key) -sess_out \(session)"
            let first = try await Program.run(["sh", "-c", "\(ask) | \(connect) \(known)"])
            #expect(first.output.contains("Tidegate is healthy."), "\(first)")
            let again = try await Program.run(["sh", "-c", "\(ask) | \(connect) -sess_in \(session)"])
            // Whether it is resumed or refused is up to the library: no other client gets in with it after a change.
            try source.use(try parties.policy(.requiredAndVerified, names: ["other.example"]))
            let later = try await Program.run(["sh", "-c", "\(ask) | \(connect) -sess_in \(session)"])
            #expect(!later.output.contains("Tidegate is healthy."), "\(again) \(later)")
        }
    }
}

extension Curl {
    fileprivate func status(as identity: TestAuthority.Identity?, _ version: String = "--tlsv1.2") async throws -> Int {
        guard let identity else { return try await self.status("/-/healthy", version) }
        return try await self.status("/-/healthy", version, "--cert", identity.certificate, "--key", identity.key)
    }
}
