internal import TidegateCore

extension HandshakeFailure {
    // SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST, SSL_R_UNEXPECTED_MESSAGE, SSL_R_WRONG_VERSION_NUMBER,
    // SSL_R_RECORD_LAYER_FAILURE and SSL_R_BAD_RECORD_TYPE (openssl/sslerr.h).
    private static let noRecords: Set<UInt32> = [198, 156, 244, 267, 313, 443]
    /// SSL_R_UNEXPECTED_EOF_WHILE_READING.
    private static let endOfStream: UInt32 = 294

    /// The failure behind libcurl's text of a handshake that failed.
    ///
    /// libcurl tells OpenSSL's error in no other way: `error:0A00010B:SSL routines::wrong version number`
    /// (ERR_error_string(3)), of which the code is taken. Without one the connection was lost.
    init(curlText text: String?) {
        guard let (code, reason) = text.flatMap(Self.error(in:)) else {
            self = .brokenOff
            return
        }
        self.init(code: code, notTLS: Self.noRecords, endOfStream: Self.endOfStream, reason: reason)
    }

    /// The code of OpenSSL's error in a text of libcurl's, and what follows it; nil if there is none.
    static func error(in text: String) -> (code: UInt32, reason: String)? {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let place = fields.firstIndex(where: { $0 == "error" || $0 == " error" }),
            fields.count > place + 1, let code = UInt32(fields[place + 1], radix: 16)
        else { return nil }
        let reason = fields.last.map { $0.prefix { $0 != "," } } ?? ""
        return (code, String(reason))
    }
}
