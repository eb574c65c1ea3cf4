import Foundation
import Tidegate
import Testing
import TidegateTestKit

@testable import TidegateDaemon
@testable import TidegateServer

/// Files that an editor, a disk or an attacker has damaged.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct FuzzedWebFileTests {
    /// The same numbers at every run (xorshift64).
    private struct RandomSource: RandomNumberGenerator {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15

        mutating func next() -> UInt64 {
            self.state ^= self.state << 13
            self.state ^= self.state >> 7
            self.state ^= self.state << 17
            return self.state
        }
    }

    private static let pieces: [[UInt8]] =
        [
            "{", "}", "[", "]", ":", "\n", "  ", "- ", "*a", "&a ", "|\n", "\"", "null", "%", "\t", "<<: ", "$",
            "---\n",
        ].map { Array($0.utf8) } + [[0], [0xFF], [0xC3]]

    private static func spoiled(_ bytes: [UInt8], _ generator: inout RandomSource) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.remove(at: place)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(contentsOf: self.pieces.randomElement(using: &generator) ?? [], at: place)
            default: bytes.removeSubrange(place..<min(bytes.count, place + 20))
            }
        }
        return bytes
    }

    @Test("Whatever a file holds, it is read or complained about in sentences that name it")
    func spoiledFiles() async throws {
        let folder = try await WebFolder()
        let text = """
            tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: ca.pem,
              client_auth_type: RequireAndVerifyClientCert, client_allowed_sans: [a], min_version: TLS12,
              cipher_suites: [TLS_AES_128_GCM_SHA256], curve_preferences: [X25519]}
            http_server_config: {http2: true, headers: {X-Frame-Options: deny}}
            basic_auth_users: {ann: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}
            rate_limit: {interval: 1s, burst: 20}

            """
        var generator = RandomSource()
        var refused = 0
        for _ in 0..<500 {
            let bytes = Self.spoiled(Array(text.utf8), &generator)
            try Data(bytes).write(to: URL(fileURLWithPath: folder.file))
            guard case .failure(let error) = folder.look().result else { continue }
            refused += 1
            #expect(!error.problems.isEmpty && error.problems.allSatisfy { $0.file == folder.file })
        }
        #expect(refused > 100 && refused < 500)
    }

    @Test("Spoiled certificates and keys are refused, or still good")
    func spoiledCertificates() async throws {
        let folder = try await WebFolder()
        try folder.write("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
        var generator = RandomSource()
        for name in ["cert.pem", "key.pem"] {
            let whole = Array(try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8).utf8)
            for _ in 0..<200 {
                try Data(Self.spoiled(whole, &generator)).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
                guard case .failure(let error) = folder.look().result else { continue }
                #expect(error.problems.allSatisfy { $0.key?.hasPrefix("tls_server_config") == true }, "\(error)")
            }
            try Data(whole).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
        }
        #expect(try folder.look().result.get().isEncrypted)
    }
}
