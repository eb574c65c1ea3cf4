internal import NIOSSL
internal import TidegateCore

extension HandshakeFailure {
    // SSL_R_BAD_PACKET_LENGTH, SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST,
    // SSL_R_UNEXPECTED_MESSAGE, SSL_R_UNEXPECTED_RECORD and SSL_R_WRONG_VERSION_NUMBER (openssl/ssl.h of BoringSSL).
    private static let noRecords: Set<UInt32> = [112, 136, 146, 156, 223, 225, 247]

    /// The failure behind an error of swift-nio-ssl; nil if that names none.
    init?(_ error: any Error) {
        let stack: NIOBoringSSLErrorStack
        switch error {
        // A stream that ends, and one whose end is announced.
        case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])), NIOSSLError.handshakeFailed(.zeroReturn):
            self = .brokenOff
            return
        case NIOSSLError.shutdownFailed(.sslError(let errors)): stack = errors
        case NIOSSLError.handshakeFailed(.sslError(let errors)): stack = errors
        // In TLS 1.3 a server may refuse this host's certificate after its own handshake.
        case BoringSSLError.sslError(let errors): stack = errors
        default: return nil
        }
        // `Error: 268436502 error:10000416:SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_UNKNOWN at …`: the code
        // and the words can be had in no other way.
        let parts = stack.first.map { "\($0)".split(separator: " ") } ?? []
        guard parts.count > 3, let code = UInt32(parts[1]) else { return nil }
        let reason = parts[3].split(separator: ":").last ?? parts[3]
        self.init(
            code: code, notTLS: Self.noRecords, endOfStream: nil,
            reason: reason.lowercased().split(separator: "_").joined(separator: " "))
    }
}
