/// Why a TLS handshake failed, if not for the server's certificate.
package enum HandshakeFailure: Sendable, Hashable, CustomStringConvertible {
    /// The peer does not send TLS records.
    case notTLS
    /// The server reports that it goes no further.
    case refused(TLSAlert)
    /// The connection ended before the handshake did.
    case brokenOff
    /// This host does not accept what the server offers; the library's description of it.
    case notAccepted(String)

    /// True if the certificate of this host, or that it showed none, is the reason.
    package var isAboutClientCertificate: Bool {
        if case .refused(let alert) = self { alert.isAboutClientCertificate } else { false }
    }

    /// The failure behind an error of OpenSSL 3 or BoringSSL, whose words are `reason`.
    ///
    /// The code is that of ERR_get_error(3). Both libraries count reasons alike: from 1000 those of alerts that the peer
    /// sent. Of the others only the few whose text is misleading matter; `notTLS` lists those for data that is not a
    /// TLS record.
    package init(code: UInt32, notTLS: Set<UInt32>, endOfStream: UInt32?, reason: String) {
        let number = code & 0xFFF
        if let alert = TLSAlert(reason: number) {
            self = .refused(alert)
        } else if notTLS.contains(number) {
            self = .notTLS
        } else {
            self = number == endOfStream ? .brokenOff : .notAccepted(reason)
        }
    }

    /// One clause without a final full stop.
    package var description: String {
        switch self {
        case .notTLS: "the port does not speak TLS"
        case .refused(let alert): "the server refused the handshake: \(alert)"
        case .brokenOff: "the server closed the connection during the handshake"
        case .notAccepted(let reason): "this host does not accept what the server offers: \(reason)"
        }
    }
}

/// A fatal alert of TLS (RFC 8446 6).
package struct TLSAlert: Sendable, Hashable, CustomStringConvertible {
    /// 0 to 255, as the peer sent it.
    package let number: UInt8

    /// The first reason of OpenSSL and BoringSSL for an alert that was received; the others follow by their numbers.
    private static let firstReason: UInt32 = 1000

    /// The alert with a number.
    package init(number: UInt8) { self.number = number }

    /// The alert behind the reason of an error; nil if it has another one.
    package init?(reason: UInt32) {
        guard reason >= Self.firstReason, let number = UInt8(exactly: reason - Self.firstReason) else { return nil }
        self.number = number
    }

    /// True if the certificate of this host, or that it showed none, is the reason.
    package var isAboutClientCertificate: Bool { [41, 42, 43, 44, 45, 46, 48, 49, 116].contains(self.number) }

    private static let names: [UInt8: String] = [
        10: "unexpected message", 20: "bad record MAC", 22: "record overflow", 40: "handshake failure",
        41: "no certificate", 42: "bad certificate", 43: "unsupported certificate", 44: "certificate revoked",
        45: "certificate expired", 46: "certificate unknown", 47: "illegal parameter", 48: "unknown authority",
        49: "access denied", 50: "decode error", 51: "decrypt error", 70: "protocol version",
        71: "insufficient security", 80: "internal error", 86: "inappropriate fallback", 109: "missing extension",
        110: "unsupported extension", 112: "unrecognized name", 116: "certificate required",
        120: "no application protocol",
    ]

    /// The alert's name in RFC 8446, in plain words.
    package var description: String { Self.names[self.number] ?? "alert \(self.number)" }
}
