/// What a connection's two ends agreed on, and the certificates that the server showed.
public struct TLSDetails: Sendable, Hashable {
    /// The protocol's version, `TLSv1.2` or `TLSv1.3`.
    public var version: String
    /// The cipher suite, as OpenSSL names it (`TLS_AES_256_GCM_SHA384`); empty if none was agreed on.
    public var cipher: String
    /// The server's own certificate and those that vouch for it, eight at most.
    ///
    /// Up to the authority that is trusted here, if there is one; otherwise as the server sent them.
    public var chain: [CertificateSummary]

    /// Details from their parts.
    package init(version: String, cipher: String, chain: [CertificateSummary]) {
        (self.version, self.cipher, self.chain) = (version, cipher, chain)
    }

    /// The server's own certificate; the others are for programs that ask for them.
    var json: JSONValue {
        [
            "version": .string(self.version), "cipher": .string(self.cipher),
            "certificate": self.chain.first.map { certificate in
                [
                    "subject": .string(certificate.subject), "issuer": .string(certificate.issuer),
                    "names": .texts(certificate.names), "expiry": .optional(certificate.expiry?.description),
                ]
            } ?? .null,
        ]
    }
}

/// What a server shows before a request is sent to it: the input of a hook.
public struct ServerTrust: Sendable, Hashable {
    /// The host that the request is for, in lower case and encoded (RFC 5890).
    public var host: String
    /// What was agreed on, and the certificates with their digests.
    public var tls: TLSDetails
    /// The certificates of ``tls`` whole (DER, X.690), in the same order.
    public var certificates: [[UInt8]]
    /// What verification found wrong with the chain or with the name; nil if nothing.
    public var problem: String?

    /// A trust from its parts.
    package init(host: String, tls: TLSDetails, certificates: [[UInt8]], problem: String?) {
        (self.host, self.tls, self.certificates, self.problem) = (host, tls, certificates, problem)
    }
}

/// Whether a request is sent to a server.
public enum ServerTrustVerdict: Sendable, Hashable {
    /// Like without a hook: the request is sent if verification found nothing wrong.
    case verified
    /// It is sent regardless of the verification; pins must still match.
    case trusted
    /// It is not sent: the task fails as `tlsFailed` with this reason, which is a clause without a full stop.
    case refused(String)
}

/// A version of TLS, as configurations name it.
package enum TLSVersion: String, Sendable, Comparable, CaseIterable {
    case v1_0 = "TLS10"
    case v1_1 = "TLS11"
    case v1_2 = "TLS12"
    case v1_3 = "TLS13"

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}
