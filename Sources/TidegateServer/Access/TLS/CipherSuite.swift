/// The supported cipher suites, by their IANA names.
package enum CipherSuite: String, Sendable, CaseIterable {
    case rsaAES128SHA = "TLS_RSA_WITH_AES_128_CBC_SHA"
    case rsaAES256SHA = "TLS_RSA_WITH_AES_256_CBC_SHA"
    case rsaAES128GCM = "TLS_RSA_WITH_AES_128_GCM_SHA256"
    case rsaAES256GCM = "TLS_RSA_WITH_AES_256_GCM_SHA384"
    case aes128GCM = "TLS_AES_128_GCM_SHA256"
    case aes256GCM = "TLS_AES_256_GCM_SHA384"
    case chaCha20 = "TLS_CHACHA20_POLY1305_SHA256"
    case ecdheECDSAAES128SHA = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"
    case ecdheECDSAAES256SHA = "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"
    case ecdheRSAAES128SHA = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
    case ecdheRSAAES256SHA = "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"
    case ecdheECDSAAES128GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    case ecdheECDSAAES256GCM = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    case ecdheRSAAES128GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    case ecdheRSAAES256GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
    case ecdheRSAChaCha20 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
    case ecdheECDSAChaCha20 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"

    /// True for the suites of TLS 1.3, which cannot be configured one by one.
    package var isOfTLS13: Bool {
        !self.rawValue.contains("_WITH_")
    }
}
