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

    @Test("Each error of HTTP/2 has its own sentence, with the name of RFC 9113")
    func http2() {
        let texts = (0...14).map { code in
            var signals = HTTP2Signals()
            _ = signals.note("HTTP/2 stream 1 was not closed cleanly: NAME (err \(code))\n")
            return signals.text ?? ""
        }
        #expect(Set(texts).count == 15)
        #expect(texts[0...13].allSatisfy { $0.hasPrefix("the server ") && $0.contains(#/\([A-Z1_]+\)/#) })
        #expect(texts[14] == "the server ended the request with the unknown HTTP/2 error 14")
    }

    @Test("GOAWAY is about the request if its last stream is below the request's")
    func goAway() {
        var signals = HTTP2Signals()
        _ = signals.note("Using Stream ID: 3 (easy handle 0x1)\n")
        let isAgain = signals.note("recveived GOAWAY, error=0, last_stream=2147483647\n")
        #expect(!isAgain && !signals.isUnprocessed && signals.text == nil)
        _ = signals.note("recveived GOAWAY, error=0, last_stream=3\n")
        #expect(!signals.isUnprocessed)
        _ = signals.note("received GOAWAY, error=0, last_stream=1\n")
        #expect(signals.isUnprocessed)
        #expect(signals.text == "the server closed the HTTP/2 connection before it processed the request")
        _ = signals.note("HTTP/2 stream 3 was not closed cleanly before end of the underlying stream\n")
        #expect(signals.isUnprocessed, "the server has said so before")
        _ = signals.note("Using Stream ID: 1 (easy handle 0x1)\n")
        #expect(!signals.isUnprocessed && signals.text == nil)
        _ = signals.note("received GOAWAY, error=13, last_stream=1\n")
        _ = signals.note("HTTP/2 stream 1 was not closed cleanly before end of the underlying stream\n")
        #expect(!signals.isUnprocessed && signals.requiresHTTP1, "the stream may have been processed")
        _ = signals.note("Using Stream ID: 1 (easy handle 0x1)\n")
        for field in ["x: refused by server", "x: received GOAWAY, error=7, last_stream=0", "x: OPENED stream"] {
            for line in ["h2h3 [\(field)]\n", "[HTTP/2] [1] [\(field)]\n"] {
                #expect(!signals.note(line) && !signals.isUnprocessed && signals.text == nil, "\(line)")
            }
        }
        _ = signals.note("[HTTP/2] [5] OPENED stream for https://a/\n")
        _ = signals.note("[HTTP/2] [0] received GOAWAY, error=0, last_stream=3\n")
        #expect(signals.isUnprocessed)
    }

    @Test("EINVAL for a link-local address without its interface is no route's")
    func linkLocal() {
        let now = MonotonicTime(nanoseconds: 0)
        func error(_ text: String) -> SocketError? {
            var outcome = AttemptOutcome(progress: .init(lastActivity: now), started: now, ended: now)
            (outcome.osError, outcome.failedConnect) = (EINVAL, FailedConnect(address: IPAddress(text)))
            return outcome.socketError
        }
        #expect(error("fe80::1") == .lacksInterface)
        #expect(error("fe80::1%1") == .blackholed && error("2001:db8::1") == .blackholed)
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
