internal import CCurl
internal import TidegateCore

/// Reads what libcurl keeps about a server's certificate (CURLINFO_CERTINFO).
enum CertificateReader {
    /// The server's own certificate; nil if none was kept.
    static func summary(of easy: borrowing EasyHandle) -> CertificateSummary? {
        self.lines(of: easy, most: 1).first.flatMap { self.summary(of: $0) }
    }

    /// The certificates that the server sent, its own first (PEM, RFC 7468).
    static func chain(of easy: borrowing EasyHandle) -> [String] {
        self.lines(of: easy, most: self.maxCertificates).compactMap { self.value("Cert", in: $0) }
    }

    static let maxCertificates = 8

    // What libcurl writes about each certificate, the server's own first.
    private static func lines(of easy: borrowing EasyHandle, most: Int) -> [[String]] {
        var chain: UnsafeMutablePointer<curl_certinfo>?
        guard tg_easy_get_certificates(easy.raw, &chain) == CURLE_OK, let chain = chain?.pointee,
            chain.num_of_certs > 0
        else { return [] }
        return (0..<min(Int(chain.num_of_certs), most)).compactMap { position in
            var lines: [String] = []
            var node = chain.certinfo?[position]
            // The bound holds whatever a server sends.
            while let line = node?.pointee, lines.count < 256 {
                if let text = line.data { lines.append(String(cString: text)) }
                node = line.next
            }
            return lines
        }
    }

    /// The summary in lines of `name:value`; nil if they name no subject.
    static func summary(of lines: [String]) -> CertificateSummary? {
        guard let subject = self.value("Subject", in: lines) else { return nil }
        return CertificateSummary(
            subject: subject, issuer: self.value("Issuer", in: lines) ?? "",
            notBefore: self.value("Start date", in: lines) ?? "",
            notAfter: self.value("Expire date", in: lines) ?? "",
            names: self.names(self.value("X509v3 Subject Alternative Name", in: lines) ?? ""))
    }

    private static func value(_ name: String, in lines: [String]) -> String? {
        lines.first { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
    }

    static let maxNames = 16

    // `DNS:localhost, IP Address:127.0.0.1`
    private static func names(_ text: String) -> [String] {
        text.split(separator: ",").prefix(self.maxNames).compactMap { part in
            guard let colon = part.firstIndex(of: ":") else { return nil }
            return String(part[part.index(after: colon)...])
        }
    }
}
