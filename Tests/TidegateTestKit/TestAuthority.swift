internal import Foundation

/// A certificate authority for tests; its directory is deleted with it (openssl(1)).
package final class TestAuthority: Sendable {
    /// A certificate with its key.
    package struct Identity: Sendable {
        /// The PEM file of the certificate.
        package let certificate: String
        /// The PEM file of its key.
        package let key: String

        /// A certificate from its files.
        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The validity of a certificate.
    package enum Validity: String, Sendable, CaseIterable {
        /// Valid now, for years.
        case now = "20250101000000Z 20450101000000Z"
        /// Expired: January 2024.
        case past = "20240101000000Z 20240201000000Z"
        /// Not yet valid: from 2044.
        case future = "20440101000000Z 20450101000000Z"
    }

    /// The PEM file of the authority's certificate.
    package let certificate: String
    private let folder: URL

    /// True if openssl(1) is installed.
    package static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl") }

    /// A new authority; others that are used with it have other names.
    package init(named name: String = "Test Authority") async throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-ca-\(UUID().uuidString)")
        self.certificate = self.folder.appendingPathComponent("ca.pem").path
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let configuration = """
            [ca]
            default_ca=d
            [d]
            new_certs_dir=.
            database=index.txt
            serial=serial
            default_md=sha256
            policy=p
            unique_subject=no
            [p]
            commonName=supplied
            """
        try await self.shell(
            """
            printf '%s\\n' '\(configuration)' > ca.cnf; : > index.txt; echo 01 > serial
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=\(name)' \
              -keyout ca.key -out ca.pem
            """)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// Signs a certificate for DNS names, or for names with another prefix: `IP:192.0.2.1`.
    package func sign(_ names: [String], _ validity: Validity = .now) async throws -> Identity {
        let list = names.map { $0.contains(":") ? $0 : "DNS:\($0)" }.joined(separator: ",")
        return try await self.sign(names[0], validity, "subjectAltName=\(list)\\n")
    }

    private func sign(_ name: String, _ validity: Validity, _ extensions: String) async throws -> Identity {
        let id = UUID().uuidString
        let dates = validity.rawValue.split(separator: " ")
        try await self.shell(
            """
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=\(name)' \
              -keyout \(id).key -out \(id).csr
            printf '\(extensions)' > \(id).ext
            openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in \(id).csr -out \(id).pem -notext \
              -startdate \(dates[0]) -enddate \(dates[1]) -extfile \(id).ext
            """)
        return self.identity(id)
    }

    /// Writes a list of what was revoked so far, which expires after so many days; returns its file.
    package func revocationList(revoking identity: Identity? = nil, days: Int = 2) async throws -> String {
        let file = self.folder.appendingPathComponent("\(UUID().uuidString).crl").path
        let revoke = identity.map {
            "openssl ca -config ca.cnf -cert ca.pem -keyfile ca.key -revoke '\($0.certificate)';"
        }
        let end = days > 0 ? "-crldays \(days)" : "-crl_lastupdate 240101000000Z -crl_nextupdate 240102000000Z"
        try await self.shell(
            """
            \(revoke ?? "") echo 01 > crlnumber
            openssl ca -config ca.cnf -cert ca.pem -keyfile ca.key -gencrl \(end) -out '\(file)'
            """)
        return file
    }

    /// Writes the OCSP response about a certificate that its server can staple; returns its file.
    package func status(of identity: Identity) async throws -> String {
        let file = self.folder.appendingPathComponent("\(UUID().uuidString).ocsp").path
        try await self.shell(
            """
            openssl ocsp -index index.txt -rsigner ca.pem -rkey ca.key -CA ca.pem -issuer ca.pem \
              -cert '\(identity.certificate)' -ndays 1 -respout '\(file)' > /dev/null
            """)
        return file
    }

    /// Signs an authority between this one and others.
    package func intermediate() async throws -> Identity {
        try await self.issue(
            "Test Intermediate", by: Identity(certificate: self.certificate, key: "ca.key"), Self.authorityExtensions)
    }

    /// Signs an authority between this one and others whose certificate has expired.
    package func expiredIntermediate() async throws -> Identity {
        try await self.sign("Test Intermediate", .past, Self.authorityExtensions)
    }

    private static let authorityExtensions =
        "basicConstraints=critical,CA:TRUE\\nkeyUsage=critical,keyCertSign,cRLSign\\n"

    /// Lets an intermediate authority sign a certificate for a DNS name.
    package func sign(_ name: String, by authority: Identity) async throws -> Identity {
        try await self.issue(name, by: authority, "subjectAltName=DNS:\(name)\\n")
    }

    /// Signs a certificate that has its name in the subject alone.
    package func signSubject(_ name: String) async throws -> Identity {
        try await self.issue(
            name, by: Identity(certificate: self.certificate, key: "ca.key"), "basicConstraints=CA:FALSE\\n")
    }

    private func issue(_ name: String, by authority: Identity, _ extensions: String) async throws -> Identity {
        let id = UUID().uuidString
        try await self.shell(
            """
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=\(name)' \
              -keyout \(id).key -out \(id).csr
            printf '\(extensions)' > \(id).ext
            openssl x509 -req -days 2 -in \(id).csr -CA '\(authority.certificate)' -CAkey '\(authority.key)' \
              -set_serial 0x\(UInt32.random(in: 1...UInt32.max)) -extfile \(id).ext -out \(id).pem
            """)
        return self.identity(id)
    }

    /// A certificate's public key, and the certificate itself, as pins.
    package static func pins(of certificate: String) async throws -> (key: String, fingerprint: String) {
        let key = try await Program.expect([
            "sh", "-c",
            """
            openssl x509 -in '\(certificate)' -pubkey -noout | openssl pkey -pubin -outform der \
            | openssl dgst -sha256 -binary | openssl enc -base64
            """,
        ])
        let print = try await Program.expect([
            "openssl", "x509", "-in", certificate, "-noout", "-fingerprint", "-sha256",
        ])
        let digits = print.split(separator: "=").last?.prefix { $0 != "\n" } ?? ""
        return ("sha256//\(key.prefix { $0 != "\n" })", String(digits))
    }

    /// Creates a self-signed certificate.
    package func selfSigned(_ name: String) async throws -> Identity {
        let id = UUID().uuidString
        try await self.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=\(name)' \
              -addext subjectAltName=DNS:\(name) -keyout \(id).key -out \(id).pem
            """)
        return self.identity(id)
    }

    private func identity(_ id: String) -> Identity {
        Identity(
            certificate: self.folder.appendingPathComponent("\(id).pem").path,
            key: self.folder.appendingPathComponent("\(id).key").path)
    }

    private func shell(_ script: String) async throws {
        try await Program.expect(["sh", "-ec", "cd '\(self.folder.path)'\n\(script)"])
    }
}

/// A TLS server with one certificate that answers every request with a status page (`openssl s_server -www`).
package final class TestTLSServer: Sendable {
    /// The port on 127.0.0.1.
    package let port: UInt16
    private let program: Program

    /// Starts listening, and waits until it does.
    ///
    /// `arguments` are more of openssl-s_server(1).
    package init(_ identity: TestAuthority.Identity, arguments: [String] = []) async throws {
        self.port = UInt16(try FreePort.find())
        self.program = try Program(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:\(self.port)", "-cert", identity.certificate, "-key",
                identity.key, "-www",
            ] + arguments)
        let program = self.program
        guard await eventually({ program.outputSoFar.contains("ACCEPT") }) else {
            throw Program.NotStarted(description: "s_server: \(program.errorsSoFar)")
        }
    }

    deinit { self.program.signal(9) }
}
