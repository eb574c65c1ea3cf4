internal import TidegateCore

/// What kind of failure an attempt's was, as far as trying again goes.
enum FailureClass: Sendable, Hashable, CaseIterable {
    /// This host had no way to send anything.
    case link
    /// The name gave no address.
    case dns
    /// No connection came about.
    case connect
    /// The handshake was cut off.
    case tlsCutOff
    /// TLS says no.
    case tls
    /// Connected, and then nothing for too long.
    case timeout
    /// The connection failed under the request.
    case transport
    /// The answer's status says how.
    case status
    /// The request, or the answer to it, cannot be used.
    case client
    /// This host could not do its part.
    case local

    /// The class of a CURLcode (libcurl-errors(3)), with the connection's errno(3) where it has one.
    ///
    /// `isConnected` tells whether a connection stood: a timeout before it is a connection's.
    init(curlCode: Int32, osError: Int32, isConnected: Bool) {
        switch curlCode {
        case 0, 22: self = .status
        case 5, 6: self = .dns
        case 7: self = FailureClass.unreachable.contains(osError) ? .link : .connect
        case 45: self = .link
        case 28: self = isConnected ? .timeout : .connect
        case 35: self = FailureClass.cutOff.contains(osError) ? .tlsCutOff : .tls
        case 97: self = .connect
        default: self = FailureClass.table[curlCode] ?? .client
        }
    }

    // ENETDOWN, ENETUNREACH, EADDRNOTAVAIL: this host itself refused to send.
    private static let unreachable: Set<Int32> = [99, 100, 101]
    // EPIPE, ECONNRESET, ETIMEDOUT; 0 is an end without an error number.
    private static let cutOff: Set<Int32> = [0, 32, 104, 110]

    /// The codes whose class needs no further look.
    static let table: [Int32: FailureClass] = [
        // UNSUPPORTED_PROTOCOL, URL_MALFORMAT, NOT_BUILT_IN
        1: .client, 3: .client, 4: .client,
        // FAILED_INIT
        2: .local,
        // WEIRD_SERVER_REPLY, HTTP_RETURNED_ERROR is a status
        8: .transport,
        // HTTP2, PARTIAL_FILE
        16: .transport, 18: .transport,
        // WRITE_ERROR, READ_ERROR, OUT_OF_MEMORY
        23: .local, 26: .local, 27: .local,
        // RANGE_ERROR, BAD_DOWNLOAD_RESUME
        33: .client, 36: .client,
        // FILE_COULDNT_READ_FILE, ABORTED_BY_CALLBACK, BAD_FUNCTION_ARGUMENT
        37: .local, 42: .local, 43: .local,
        // TOO_MANY_REDIRECTS
        47: .client,
        // GOT_NOTHING, SEND_ERROR, RECV_ERROR
        52: .transport, 55: .transport, 56: .transport,
        // SSL_ENGINE_NOTFOUND, SSL_ENGINE_SETFAILED, SSL_CERTPROBLEM, SSL_CIPHER, PEER_FAILED_VERIFICATION
        53: .tls, 54: .tls, 58: .tls, 59: .tls, 60: .tls,
        // BAD_CONTENT_ENCODING, FILESIZE_EXCEEDED
        61: .client, 63: .client,
        // SEND_FAIL_REWIND
        65: .transport,
        // SSL_ENGINE_INITFAILED, SSL_CACERT_BADFILE, SSL_SHUTDOWN_FAILED, SSL_CRL_BADFILE, SSL_ISSUER_ERROR
        66: .tls, 77: .tls, 80: .tls, 82: .tls, 83: .tls,
        // AGAIN, NO_CONNECTION_AVAILABLE
        81: .transport, 89: .transport,
        // SSL_PINNEDPUBKEYNOTMATCH, SSL_INVALIDCERTSTATUS, SSL_CLIENTCERT
        90: .tls, 91: .tls, 98: .tls,
        // HTTP2_STREAM, HTTP3, QUIC_CONNECT_ERROR
        92: .transport, 95: .transport, 96: .connect,
        // UNRECOVERABLE_POLL
        99: .local,
    ]

    /// What a failure of ours amounts to where the wire has no code for it.
    init(of failure: TaskFailure) {
        switch failure {
        case .resolveFailed: self = .dns
        case .connectFailed: self = .connect
        case .tlsFailed, .tlsPinMismatch: self = .tls
        case .timedOut, .stalled: self = .timeout
        case .reset, .truncated: self = .transport
        case .httpStatus: self = .status
        case .protocolError, .tooLarge, .rangeMismatch, .digestMismatch, .outcomeUnknown, .retriesExhausted,
            .gateTimeout, .deadlineExceeded, .cancelled, .invalidRequest:
            self = .client
        case .bodyChanged, .fileError, .diskFull, .internal: self = .local
        }
    }
}
