internal import Foundation
internal import TidegateCore

/// The certificate authorities that this host's administrator added to the system's.
///
/// Most of them belong to a decrypting proxy or to internal servers.
struct LocalAuthorities {
    /// Where distributions look for added authorities (update-ca-certificates(8), update-ca-trust(8)).
    static let systemFolders = [
        "/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
        "/etc/ca-certificates/trust-source/anchors",
        "/etc/pki/trust/anchors",
    ]

    /// Where distributions keep the authorities that they ship (ca-certificates); copies of these are not local ones.
    static let shippedFolders = ["/usr/share/ca-certificates"]

    private static let maxFiles = 1024
    private static let maxBytes = 1 << 20

    var folders = LocalAuthorities.systemFolders
    var shipped = LocalAuthorities.shippedFolders

    /// The added authority that signed a server's chain; nil if another one did.
    ///
    /// `sent` starts with the server's own certificate; certificates outside its chain are ignored.
    func signer(of sent: [X509Certificate]) -> LocalAuthority? {
        let files = self.files(in: self.folders)
        guard !files.isEmpty else { return nil }
        let added = files.flatMap { file in self.certificates(in: file).map { (file, $0) } }
        var current = sent.first
        // A chain cannot be longer than the list, even if it is circular.
        for _ in sent {
            guard let certificate = current else { return nil }
            if let (file, authority) = added.first(where: { certificate.isSigned(by: $0.1) }) {
                return self.isShipped(authority) ? nil : LocalAuthority(name: authority.subject, file: file)
            }
            current = sent.first { $0 !== certificate && certificate.isSigned(by: $0) }
        }
        return nil
    }

    // Files are read only now: most hosts have added no authority, or their chains do not lead to one.
    private func isShipped(_ authority: X509Certificate) -> Bool {
        self.files(in: self.shipped).contains { file in
            self.certificates(in: file).contains { $0.isEqual(to: authority) }
        }
    }

    private func certificates(in file: String) -> [X509Certificate] {
        let path = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular, (attributes[.size] as? Int ?? 0) <= Self.maxBytes,
            let contents = FileManager.default.contents(atPath: path)
        else { return [] }
        return X509Certificate.all(inPEM: Array(contents))
    }

    private func files(in folders: [String]) -> [String] {
        folders.flatMap { folder in
            (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
                .filter { $0.hasSuffix(".crt") || $0.hasSuffix(".pem") }.sorted()
                .prefix(Self.maxFiles).map { "\(folder)/\($0)" }
        }
    }
}
