internal import Foundation
internal import TidegateCore

/// The certificate authorities that an administrator of this host added to the system's.
///
/// Most who add one do it for a proxy that decrypts what passes through it, or for servers of their own.
struct LocalAuthorities {
    /// Where distributions look for added authorities (update-ca-certificates(8), update-ca-trust(8)).
    static let systemFolders = [
        "/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
        "/etc/ca-certificates/trust-source/anchors",
        "/etc/pki/trust/anchors",
    ]

    private static let mostFiles = 256
    private static let mostBytes = 1 << 20

    private let folders: [String]

    init(folders: [String] = LocalAuthorities.systemFolders) { self.folders = folders }

    /// The added authority whose signature one of these certificates (PEM) carries; nil if none does.
    func signer(of chain: [String]) -> LocalAuthority? {
        let files = self.files
        guard !files.isEmpty else { return nil }
        let certificates = chain.flatMap { X509Certificate.all(inPEM: Array($0.utf8)) }
        for file in files {
            guard let contents = Self.contents(of: file) else { continue }
            let authorities = X509Certificate.all(inPEM: contents)
            for authority in authorities where certificates.contains(where: { $0.isSigned(by: authority) }) {
                return LocalAuthority(name: authority.subject, file: file)
            }
        }
        return nil
    }

    // Both tools look into folders of folders, too.
    private var files: [String] {
        self.folders.flatMap { folder in
            let names = FileManager.default.enumerator(atPath: folder)?.lazy.compactMap { $0 as? String } ?? []
            return names.prefix(Self.mostFiles).sorted().map { "\(folder)/\($0)" }
        }
    }

    private static func contents(of file: String) -> [UInt8]? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
            attributes[.type] as? FileAttributeType == .typeRegular, (attributes[.size] as? Int ?? 0) <= self.mostBytes
        else { return nil }
        return FileManager.default.contents(atPath: file).map(Array.init)
    }
}
