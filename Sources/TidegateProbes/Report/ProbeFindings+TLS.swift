internal import TidegateCore
internal import TidegateTransfer

extension ProbeFindings {
    /// What blackbox_exporter shows of a chain that was not verified: the first moment of Go's time.Time.
    private static var neverVerified: Double { -62_135_596_800 }

    /// Records what a server showed in its handshake.
    mutating func record(_ chain: CertificateChain) {
        if let expiry = chain.earliestExpiry { self.set(.earliestExpiry, expiry.seconds) }
        self.set(.chainExpiry, chain.verifiedExpiry?.seconds ?? ProbeFindings.neverVerified)
        self.set(.tlsVersion, 1, labels: [chain.version.replacing("TLSv", with: "TLS ")])
        // swift-nio-ssl does not say.
        if !chain.cipher.isEmpty { self.set(.tlsCipher, 1, labels: [chain.cipher]) }
        self.set(
            .chainInfo, 1,
            labels: [
                chain.own.fingerprint, chain.own.subject, chain.own.issuer, chain.own.names.joined(separator: ","),
                chain.own.serialNumber,
            ])
    }

    /// The value of a metric without labels; 0 if it was not set.
    func value(of metric: ProbeMetric) -> Double {
        self.families.first { $0.name == metric.name }?.value() ?? 0
    }
}
