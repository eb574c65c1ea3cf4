import Foundation
import Synchronization
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateDaemon
@testable import TidegateServer

@Suite(.enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct WebFileSourceTests {
    private static let ann = "basic_auth_users: {ann: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}\n"
    private static let bob = "basic_auth_users: {bob: $2y$11$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}\n"
    private static let tls = "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"

    private final class Reports: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ report: WebFileSource.Report) {
            self.lines.withLock { lines in
                switch report {
                case .reloaded: lines.append("taken")
                case .rejected(let error): lines.append(error.description)
                }
            }
        }

        func take() -> [String] {
            self.lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private func follow(_ folder: WebFolder, _ reports: Reports) throws -> WebFileSource {
        let first = folder.look()
        return WebFileSource(
            path: folder.file, first: first, access: try first.result.get(), time: SystemClock()
        ) { reports.add($0) }
    }

    @Test("Every change counts at once, also one of the same length in the same moment")
    func changes() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.ann)
        let reports = Reports()
        let source = try self.follow(folder, reports)
        for round in 0..<40 {
            try folder.write(round.isMultiple(of: 2) ? Self.bob : Self.ann)
            let users = source.currentPolicy().users
            #expect((users["bob"] != nil) == round.isMultiple(of: 2) && (users["ann"] != nil) != (users["bob"] != nil))
        }
        #expect(reports.take() == Array(repeating: "taken", count: 40))
        for _ in 0..<10 { _ = source.currentPolicy() }
        #expect(reports.take().isEmpty)
    }

    @Test("A bad file leaves what held, and is complained about once")
    func bad() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.ann)
        let reports = Reports()
        let source = try self.follow(folder, reports)
        try folder.write("basic_auth_users: {ann: secret}\n")
        for _ in 0..<5 { #expect(source.currentPolicy().users["ann"]?.cost == 10) }
        let complaint =
            "\(folder.file):1: basic_auth_users.ann: not a bcrypt hash; generate one with htpasswd -nBC 10 NAME"
        #expect(reports.take() == [complaint])
        try FileManager.default.removeItem(atPath: folder.file)
        for _ in 0..<5 { #expect(source.currentPolicy().users["ann"]?.cost == 10) }
        #expect(reports.take() == ["\(folder.file): cannot be read: No such file or directory"])
        try folder.write(Self.bob)
        #expect(source.currentPolicy().users["bob"]?.cost == 11 && reports.take() == ["taken"])
    }

    @Test("A file that is empty for a moment lets no client in")
    func emptied() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.tls + Self.ann)
        let reports = Reports()
        let source = try self.follow(folder, reports)
        try folder.write("")
        #expect(source.currentPolicy().isEncrypted && source.currentPolicy().hasUsers)
        let message = "cannot be removed without a restart"
        #expect(
            reports.take() == [
                "\(folder.file): tls_server_config: \(message)\n\(folder.file): basic_auth_users: \(message)"
            ])
        try folder.write(Self.tls)
        #expect(source.currentPolicy().hasUsers && reports.take() == ["\(folder.file): basic_auth_users: \(message)"])
        try folder.write(Self.tls + Self.bob)
        #expect(source.currentPolicy().users["bob"] != nil && reports.take() == ["taken"])
    }

    @Test("A file that does not answer leaves what held, is complained about once, and counts when it answers")
    func silent() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.ann)
        let (reports, latch, first) = (Reports(), Latch(), folder.look())
        let source = WebFileSource(
            path: folder.file, first: first, access: try first.result.get(), time: SystemClock(),
            read: { path, moment in
                while !latch.isOpen { usleep(1000) }
                return WebFile(path, at: moment)
            }, report: { reports.add($0) })
        try folder.write(Self.bob)
        for _ in 0..<5 { #expect(source.currentPolicy().users["ann"] != nil) }
        #expect(reports.take() == ["\(folder.file): it, or a file that it names, did not answer within 1s"])
        latch.open()
        #expect(await eventually { source.currentPolicy().users["bob"] != nil })
        #expect(reports.take() == ["taken"])
    }

    @Test("A pipe in the place of a key is refused at once")
    func pipe() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.tls)
        let reports = Reports()
        let source = try self.follow(folder, reports)
        #expect(unlink("\(folder.path)/key.pem") == 0 && mkfifo("\(folder.path)/key.pem", 0o600) == 0)
        #expect(source.currentPolicy().isEncrypted)
        #expect(
            reports.take() == [
                "\(folder.file):1: tls_server_config.key_file: \(folder.path)/key.pem is a pipe; a regular file is needed"
            ])
    }

    @Test("Certificates are read again, in place or by rename, and a pair that does not fit leaves the old one")
    func certificates() async throws {
        let folder = try await WebFolder()
        try folder.write(Self.tls)
        let reports = Reports()
        let source = try self.follow(folder, reports)
        let next = try await folder.authority.sign(["localhost"])
        try folder.write(try String(contentsOfFile: next.certificate, encoding: .utf8), to: "cert.pem")
        #expect(source.currentPolicy().isEncrypted)
        #expect(reports.take() == ["\(folder.file):1: tls_server_config.key_file: does not match the certificate"])
        try FileManager.default.copyItem(atPath: next.key, toPath: "\(folder.path)/next.pem")
        #expect(rename("\(folder.path)/next.pem", "\(folder.path)/key.pem") == 0)
        _ = source.currentPolicy()
        #expect(reports.take() == ["taken"])
        // As Kubernetes does it: the name leads to another folder.
        try FileManager.default.removeItem(atPath: "\(folder.path)/key.pem")
        #expect(symlink("other-key.pem", "\(folder.path)/key.pem") == 0)
        _ = source.currentPolicy()
        #expect(reports.take() == ["\(folder.file):1: tls_server_config.key_file: does not match the certificate"])
        try FileManager.default.removeItem(atPath: "\(folder.path)/cert.pem")
        #expect(symlink("other-cert.pem", "\(folder.path)/cert.pem") == 0)
        _ = source.currentPolicy()
        #expect(reports.take() == ["taken"])
    }
}
