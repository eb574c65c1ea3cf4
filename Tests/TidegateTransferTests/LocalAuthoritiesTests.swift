internal import Foundation
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateTransfer

@Suite(
    "Authorities that were added to this host", .enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"))
struct LocalAuthoritiesTests {
    private let added: Folder
    private let shipped: Folder

    init() throws { (self.added, self.shipped) = (try Folder(), try Folder()) }

    private var authorities: LocalAuthorities {
        LocalAuthorities(folders: [self.added.path(""), "/nowhere"], shipped: [self.shipped.path("")])
    }

    private func read(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    private func signer(of chain: [String]) -> LocalAuthority? {
        self.authorities.signer(of: chain.flatMap { X509Certificate.all(inPEM: Array($0.utf8)) })
    }

    @Test("An authority that signed a server's certificate is named with its file, also behind a link")
    func signer() async throws {
        let authority = try await TestAuthority()
        let chain = [try self.read(try await authority.sign(["www.example"]).certificate)]
        #expect(self.signer(of: chain) == nil)
        try FileManager.default.createSymbolicLink(
            atPath: self.added.path("corp.crt"), withDestinationPath: authority.certificate)
        let found = try #require(self.signer(of: chain))
        #expect(found.name == "Test Authority")
        #expect(found.file.hasSuffix("/corp.crt"))
    }

    @Test("One that the distribution ships, too, is none; nor is a file that update-ca-certificates does not read")
    func shippedToo() async throws {
        let authority = try await TestAuthority()
        let chain = [try self.read(try await authority.sign(["www.example"]).certificate)]
        let text = try self.read(authority.certificate)
        self.added.write("notes.txt", Array(text.utf8))
        #expect(self.signer(of: chain) == nil)
        self.added.write("corp.crt", Array(text.utf8))
        #expect(self.signer(of: chain) != nil)
        self.shipped.write("root.crt", Array(text.utf8))
        #expect(self.signer(of: chain) == nil)
    }

    @Test("What a server sends besides its own chain does not count")
    func besides() async throws {
        let (local, other) = (try await TestAuthority(), try await TestAuthority())
        let root = try self.read(local.certificate)
        self.added.write("corp.crt", Array(root.utf8))
        let leaf = try self.read(try await other.sign(["www.example"]).certificate)
        #expect(self.signer(of: [leaf, root]) == nil)
        #expect(self.signer(of: [leaf, try self.read(other.certificate), root]) == nil)
        #expect(self.signer(of: [root]) != nil, "a server may show the authority itself")
    }
}
