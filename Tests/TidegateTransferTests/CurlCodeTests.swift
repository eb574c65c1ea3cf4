internal import CCurl
internal import Glibc
internal import TidegateCore
internal import Testing

@testable internal import TidegateTransfer

@Suite struct CurlCodeTests {
    struct Row: Sendable {
        let code: CURLcode
        let failure: TaskFailure
        let kind: FailureClass

        init(_ code: CURLcode, _ failure: TaskFailure, _ kind: FailureClass) {
            self.code = code
            self.failure = failure
            self.kind = kind
        }
    }

    private static let rows = [
        Row(CURLE_UNSUPPORTED_PROTOCOL, .protocolError, .client), Row(CURLE_FAILED_INIT, .internal, .local),
        Row(CURLE_URL_MALFORMAT, .invalidRequest, .client), Row(CURLE_NOT_BUILT_IN, .internal, .client),
        Row(CURLE_COULDNT_RESOLVE_PROXY, .resolveFailed, .dns), Row(CURLE_COULDNT_RESOLVE_HOST, .resolveFailed, .dns),
        Row(CURLE_COULDNT_CONNECT, .connectFailed, .connect), Row(CURLE_WEIRD_SERVER_REPLY, .protocolError, .transport),
        Row(CURLE_HTTP2, .protocolError, .transport), Row(CURLE_PARTIAL_FILE, .truncated, .transport),
        Row(CURLE_HTTP_RETURNED_ERROR, .protocolError, .status), Row(CURLE_WRITE_ERROR, .fileError, .local),
        Row(CURLE_READ_ERROR, .fileError, .local), Row(CURLE_OUT_OF_MEMORY, .protocolError, .client),
        Row(CURLE_OPERATION_TIMEDOUT, .timedOut, .timeout), Row(CURLE_RANGE_ERROR, .internal, .client),
        Row(CURLE_SSL_CONNECT_ERROR, .tlsFailed, .tlsCutOff), Row(CURLE_BAD_DOWNLOAD_RESUME, .internal, .client),
        Row(CURLE_FILE_COULDNT_READ_FILE, .internal, .local), Row(CURLE_ABORTED_BY_CALLBACK, .internal, .local),
        Row(CURLE_BAD_FUNCTION_ARGUMENT, .invalidRequest, .local), Row(CURLE_INTERFACE_FAILED, .connectFailed, .link),
        Row(CURLE_TOO_MANY_REDIRECTS, .protocolError, .client), Row(CURLE_GOT_NOTHING, .reset, .transport),
        Row(CURLE_SSL_ENGINE_NOTFOUND, .tlsFailed, .tls), Row(CURLE_SSL_ENGINE_SETFAILED, .tlsFailed, .tls),
        Row(CURLE_SEND_ERROR, .reset, .transport), Row(CURLE_RECV_ERROR, .reset, .transport),
        Row(CURLE_SSL_CERTPROBLEM, .fileError, .local), Row(CURLE_SSL_CIPHER, .tlsFailed, .tls),
        Row(CURLE_PEER_FAILED_VERIFICATION, .tlsFailed, .tls), Row(CURLE_BAD_CONTENT_ENCODING, .protocolError, .client),
        Row(CURLE_FILESIZE_EXCEEDED, .tooLarge, .client), Row(CURLE_SEND_FAIL_REWIND, .reset, .transport),
        Row(CURLE_SSL_ENGINE_INITFAILED, .tlsFailed, .tls), Row(CURLE_SSL_CACERT_BADFILE, .fileError, .local),
        Row(CURLE_SSL_SHUTDOWN_FAILED, .tlsFailed, .tls), Row(CURLE_AGAIN, .internal, .transport),
        Row(CURLE_SSL_CRL_BADFILE, .fileError, .local), Row(CURLE_SSL_ISSUER_ERROR, .tlsFailed, .tls),
        Row(CURLE_NO_CONNECTION_AVAILABLE, .internal, .transport),
        Row(CURLE_SSL_PINNEDPUBKEYNOTMATCH, .tlsPinMismatch, .tls),
        Row(CURLE_SSL_INVALIDCERTSTATUS, .tlsFailed, .tls), Row(CURLE_HTTP2_STREAM, .protocolError, .transport),
        Row(CURLE_HTTP3, .protocolError, .transport), Row(CURLE_QUIC_CONNECT_ERROR, .connectFailed, .connect),
        Row(CURLE_PROXY, .connectFailed, .connect), Row(CURLE_SSL_CLIENTCERT, .tlsFailed, .tls),
        Row(CURLE_UNRECOVERABLE_POLL, .internal, .local),
    ]

    @Test("Every code that a request can end with has its failure and its class", arguments: Self.rows)
    func codes(_ row: Row) {
        let meaning = row.code.meaning(errorNumber: 0, isOnWire: true)
        #expect(meaning.failure == row.failure && meaning.class == row.kind)
    }

    @Test("A connection that this host refused to make is the link's failure")
    func unreachable() {
        for code in [ENETDOWN, ENETUNREACH, EADDRNOTAVAIL, ENOBUFS, ENOMEM] {
            #expect(CURLE_COULDNT_CONNECT.meaning(errorNumber: code, isOnWire: false).class == .link)
        }
        for code in [ECONNREFUSED, EHOSTUNREACH] {
            #expect(CURLE_COULDNT_CONNECT.meaning(errorNumber: code, isOnWire: false).class == .connect)
        }
    }

    @Test("Before a request is sent, memory that lacks is this host's; after that it is a field line that is too long")
    func memory() {
        #expect(CURLE_OUT_OF_MEMORY.meaning(errorNumber: 0, isOnWire: false) == (.internal, .local))
    }

    @Test("A handshake that the connection did not survive can be tried again; one that TLS refused cannot")
    func handshake() {
        #expect(CURLE_SSL_CONNECT_ERROR.meaning(errorNumber: ECONNRESET, isOnWire: false).class == .tlsCutOff)
        #expect(CURLE_SSL_CONNECT_ERROR.meaning(errorNumber: EIO, isOnWire: false).class == .tls)
    }

    @Test("Before the request is sent, a timeout is the connection's and a wrong scheme the request's")
    func beforeTheWire() {
        #expect(CURLE_OPERATION_TIMEDOUT.meaning(errorNumber: 0, isOnWire: false).class == .connect)
        #expect(CURLE_UNSUPPORTED_PROTOCOL.meaning(errorNumber: 0, isOnWire: false).failure == .invalidRequest)
    }
}
