internal import CCurl
internal import TidegateCore

/// Reads what libcurl keeps about a server's certificate (CURLINFO_CERTINFO).
enum CertificateReader {
    /// The server's own certificate; nil if none was kept.
    static func summary(of easy: borrowing EasyHandle) -> CertificateSummary? {
        var chain: UnsafeMutablePointer<curl_certinfo>?
        guard tg_easy_get_certificates(easy.raw, &chain) == CURLE_OK, let chain = chain?.pointee,
            chain.num_of_certs > 0, let first = chain.certinfo?.pointee
        else { return nil }
        var lines: [String] = []
        var node: UnsafeMutablePointer<curl_slist>? = first
        // The bound holds whatever a server sends.
        while let line = node?.pointee, lines.count < 256 {
            if let text = line.data { lines.append(String(cString: text)) }
            node = line.next
        }
        return self.summary(of: lines)
    }

    /// The summary in lines of `name:value`; nil if they name no subject.
    static func summary(of lines: [String]) -> CertificateSummary? {
        func value(_ name: String) -> String? {
            lines.first { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
        }
        guard let subject = value("Subject") else { return nil }
        return CertificateSummary(
            subject: subject, issuer: value("Issuer") ?? "", notBefore: value("Start date") ?? "",
            notAfter: value("Expire date") ?? "", names: self.names(value("X509v3 Subject Alternative Name") ?? ""))
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
