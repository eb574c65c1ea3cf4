internal import CCurl
internal import Glibc
package import TidegateCore

/// The kind of an attempt's failure, for the decision whether to retry.
package enum FailureClass: Sendable, Hashable, CaseIterable {
    /// This host could not send anything.
    case link
    /// The name resolved to no address.
    case dns
    /// No connection was made.
    case connect
    /// The connection was lost during the TLS handshake.
    case tlsCutOff
    /// TLS rejected the connection.
    case tls
    /// Connected, but nothing arrived for too long.
    case timeout
    /// The connection failed during the request.
    case transport
    /// The response's status decides.
    case status
    /// The request, or the response to it, cannot be used.
    case client
    /// A failure on this host.
    case local

    /// The class of a failure that does not come from libcurl.
    package init(of failure: TaskFailure) {
        switch failure {
        case .resolveFailed: self = .dns
        case .connectFailed: self = .connect
        case .tlsFailed, .tlsPinMismatch: self = .tls
        case .timedOut, .stalled: self = .timeout
        case .reset, .truncated: self = .transport
        case .httpStatus: self = .status
        case .protocolError, .tooLarge, .redirectRefused, .rangeMismatch, .digestMismatch, .outcomeUnknown,
            .retriesExhausted,
            .gateTimeout, .deadlineExceeded, .cancelled, .invalidRequest:
            self = .client
        case .bodyChanged, .fileError, .diskFull, .internal: self = .local
        }
    }
}

extension CURLcode {
    /// The meaning of a code (libcurl-errors(3)): the failure of the task and its class.
    ///
    /// `errorNumber` is the connection's errno(3), 0 if it has none; `isOnWire` is true once the request was started.
    func meaning(errorNumber: Int32, isOnWire: Bool) -> (failure: TaskFailure, class: FailureClass) {
        switch self {
        case CURLE_OK, CURLE_HTTP_RETURNED_ERROR: (.protocolError, .status)
        case CURLE_URL_MALFORMAT, CURLE_UNKNOWN_OPTION: (.invalidRequest, .client)
        case CURLE_BAD_FUNCTION_ARGUMENT: (.invalidRequest, .local)
        // On the wire this means an HTTP/0.9 response.
        case CURLE_UNSUPPORTED_PROTOCOL: (isOnWire ? .protocolError : .invalidRequest, .client)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: (.resolveFailed, .dns)
        // This host itself refused to send.
        case CURLE_COULDNT_CONNECT where [ENETDOWN, ENETUNREACH, EADDRNOTAVAIL, ENOBUFS, ENOMEM].contains(errorNumber):
            (.connectFailed, .link)
        case CURLE_COULDNT_CONNECT: (.connectFailed, .connect)
        case CURLE_INTERFACE_FAILED: (.connectFailed, .link)
        case CURLE_PROXY, CURLE_QUIC_CONNECT_ERROR: (.connectFailed, .connect)
        // The proxy denied access; see OutcomeBuilder.
        case CURLE_LOGIN_DENIED: (.connectFailed, .client)
        // Before the request this is a connect timeout.
        case CURLE_OPERATION_TIMEDOUT: (.timedOut, isOnWire ? .timeout : .connect)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.tlsPinMismatch, .tls)
        // The connection broke; 0 is an end without an error number.
        case CURLE_SSL_CONNECT_ERROR:
            (.tlsFailed, [0, EPIPE, ECONNRESET, ETIMEDOUT].contains(errorNumber) ? .tlsCutOff : .tls)
        // Files on this host: authorities, the client certificate and key, revoked certificates.
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CRL_BADFILE: (.fileError, .local)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
            (.tlsFailed, .tls)
        case CURLE_PARTIAL_FILE: (.truncated, .transport)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND: (.reset, .transport)
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_WEIRD_SERVER_REPLY: (.protocolError, .transport)
        case CURLE_BAD_CONTENT_ENCODING, CURLE_TOO_MANY_REDIRECTS: (.protocolError, .client)
        case CURLE_FILESIZE_EXCEEDED: (.tooLarge, .client)
        case CURLE_WRITE_ERROR, CURLE_READ_ERROR: (.fileError, .local)
        // On the wire this means a field line of more than 100 KiB, libcurl's limit for one line.
        case CURLE_OUT_OF_MEMORY: isOnWire ? (.protocolError, .client) : (.internal, .local)
        case CURLE_FAILED_INIT, CURLE_FILE_COULDNT_READ_FILE, CURLE_ABORTED_BY_CALLBACK,
            CURLE_UNRECOVERABLE_POLL:
            (.internal, .local)
        case CURLE_AGAIN, CURLE_NO_CONNECTION_AVAILABLE: (.internal, .transport)
        default: (.internal, .client)
        }
    }
}
