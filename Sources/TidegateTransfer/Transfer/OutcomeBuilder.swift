internal import CCurl
internal import Foundation
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// Builds the outcome of a finished transfer.
struct OutcomeBuilder {
    private let transfer: CurlTransfer
    private let code: CURLcode
    /// Converts moments to the client's clock.
    private let loop: Loop

    init(transfer: CurlTransfer, code: CURLcode, loop: Loop) {
        self.transfer = transfer
        // In TLS 1.3 the server checks our certificate after the handshake has ended on our side.
        let alert = transfer.easy.errorMessage.flatMap(HandshakeFailure.error(in:)).flatMap {
            TLSAlert(reason: $0.code & 0xFFF)
        }
        let isRefused = alert?.isAboutClientCertificate ?? false
        // Within the TLS of a proxy, libcurl loses libssl's reason.
        let isLost =
            code == CURLE_SSL_CONNECT_ERROR && transfer.connection.chains > 1 && transfer.connection.chainError != nil
            && transfer.request?.value.tls.isInsecure == false
        let code = isLost ? CURLE_PEER_FAILED_VERIFICATION : code
        let ours = Self.revocationListProblem(of: transfer, code) == nil ? nil : CURLE_SSL_CRL_BADFILE
        self.code =
            code == CURLE_OK
            ? code : isRefused ? CURLE_SSL_CLIENTCERT : ours ?? Self.proxyRefusal(of: transfer) ?? code
        self.loop = loop
    }

    func build(_ progress: AttemptProgress) -> Indirect<AttemptOutcome> {
        let transfer = self.transfer
        let ended = transfer.timestamps.clock.monotonic()
        let failure = self.failure(receivedWire: progress.receivedWire)
        let failedConnect = failure == nil || transfer.connection.isConnected ? nil : transfer.furthestFailedConnect()
        let text = failure.map { self.text(of: $0) } ?? ""
        let code = transfer.abortReason == nil ? self.code : CURLE_ABORTED_BY_CALLBACK
        let outcome = AttemptOutcome(
            failure: failure, curlCode: Int32(code.rawValue), isConnected: transfer.connection.isConnected,
            connectedTo: transfer.connection.connectedAddress, reachedWire: transfer.connection.starts > 0,
            stage: self.stage, wireTries: transfer.connection.starts, head: transfer.response.head.value,
            isLengthVerified: failure == nil && transfer.response.isEndProved(transfer.request),
            body: failure == nil ? transfer.response.writer.body : [],
            diagnosticBody: transfer.response.writer.diagnostic, progress: progress,
            started: self.loop.onSource(transfer.timestamps.started), ended: self.loop.onSource(ended),
            phases: transfer.timestamps.phases(
                until: ended, of: transfer.easy, hasOpened: transfer.connection.hasOpened),
            connectionsOpened: transfer.easy.long(CURLINFO_NUM_CONNECTS), connection: transfer.connection.facts(),
            failedConnect: failedConnect, silentAddresses: transfer.connection.silentAddresses,
            // libcurl's number belongs to the last connect, which may not be the one that counts.
            osError: failure == nil ? 0 : failedConnect?.errorNumber ?? transfer.errorNumber,
            lackedDescriptor: failure != nil && self.lackedDescriptor,
            tls: transfer.connection.certificates?.details,
            certificate: transfer.request?.value.wantsCertificate == true ? self.certificate(of: transfer) : nil,
            certificateChain: transfer.request?.value.wantsCertificateChain == true
                ? transfer.connection.certificates?.certificateChain : nil,
            certificateError: failure == nil ? nil : self.certificateError, handshake: failure.flatMap(self.handshake),
            proxyAnswer: self.proxyAnswer, text: text,
            isUnprocessed: transfer.connection.http2.isUnprocessed && !transfer.response.head.isComplete,
            requiresHTTP1: transfer.connection.http2.requiresHTTP1)
        return Indirect(consume outcome)
    }

    // Checked while the transfer still holds its own descriptors: afterwards one may be free.
    private var lackedDescriptor: Bool {
        let connection = self.transfer.connection
        guard connection.starts == 0 else { return false }
        return connection.lackedDescriptor || !connection.isConnected && DescriptorShortage.isNow()
    }

    private var stage: Stage {
        if self.transfer.response.head.isComplete { return .body }
        if self.transfer.connection.starts > 0 {
            return self.transfer.upload.isAtEnd(of: self.transfer.request?.value.body) ? .response : .request
        }
        return self.transfer.connection.isConnected ? .tls : .connect
    }

    // Our own reason comes first, then the response's, then libcurl's code.
    private func failure(receivedWire: Int64) -> TaskFailure? {
        let transfer = self.transfer
        if let reason = transfer.abortReason { return reason.failure }
        if transfer.response.head.value != nil {
            switch transfer.response.head.range {
            case .reject(let failure): return failure
            case .alreadyComplete: return nil
            case .append, .restartFromZero: break
            }
        }
        guard self.code == CURLE_OK else {
            // libcurl uses the code of a broken connection for this error.
            if transfer.easy.errorMessage?.hasSuffix("in chunked-encoding") ?? false { return .protocolError }
            return self.code.meaning(errorNumber: 0, isOnWire: transfer.connection.starts > 0).failure
        }
        if let last = transfer.request?.value.lastStage, last <= .tls { return nil }
        guard transfer.response.head.isComplete else { return .protocolError }
        if transfer.response.isShort(of: transfer.request, received: receivedWire) { return .truncated }
        guard transfer.response.incompleteText != nil else { return nil }
        return transfer.response.isEndProved(transfer.request) ? .protocolError : .truncated
    }

    private func certificate(of transfer: borrowing CurlTransfer) -> CertificateSummary? {
        let certificates = transfer.connection.certificates
        var summary = certificates?.details.chain.first
        // A user who names authorities for a request knows who signs; an unverified chain proves nothing.
        let isVerified = transfer.connection.starts > 0
        if isVerified, summary != nil, let tls = transfer.request?.value.tls, tls.caFile == nil,
            tls.inline.authorities == nil, !tls.isInsecure
        {
            summary?.localAuthority = LocalAuthorities().signer(of: certificates?.chain ?? [])
        }
        return summary
    }

    private var certificateError: CertificateError? {
        if self.code == CURLE_SSL_INVALIDCERTSTATUS {
            return CertificateError(status: self.transfer.easy.errorMessage ?? CurlError.text(of: self.code))
        }
        guard self.code == CURLE_PEER_FAILED_VERIFICATION else { return nil }
        return CertificateError(
            verifyResult: self.transfer.connection.chainError ?? 0,
            text: self.transfer.easy.errorMessage ?? CurlError.text(of: self.code),
            authority: self.transfer.connection.certificates?.refusedAuthority)
    }

    private func handshake(_ failure: TaskFailure) -> HandshakeFailure? {
        guard failure == .tlsFailed, self.transfer.abortReason == nil, self.code == CURLE_SSL_CONNECT_ERROR else {
            return nil
        }
        return HandshakeFailure(curlText: self.transfer.easy.errorMessage)
    }

    /// Whether TLS failed, if it did, with an https proxy instead of the server behind it.
    private var isAboutProxy: Bool {
        self.transfer.request?.value.proxy?.scheme == .https && self.transfer.connection.chains < 2
    }

    /// A text about the server's failure, where libcurl has only its library's; nil if none exists.
    private func serverText(of failure: TaskFailure) -> String? {
        guard let request = self.transfer.request, !self.isAboutProxy else { return nil }
        if let handshake = self.handshake(failure) { return handshake.description }
        if failure == .reset, request.value.proxy == nil, self.transfer.response.head.value == nil {
            return "the server closed the connection without an answer"
        }
        let certificate = self.transfer.connection.certificates?.details.chain.first
        return self.certificateError?.description(of: certificate, host: request.value.url.target.shownHost)
    }

    private func text(of failure: TaskFailure) -> String {
        if let reason = self.transfer.abortReason, !reason.text.isEmpty { return reason.text }
        if case .httpStatus = failure, let status = self.transfer.response.head.value?.status {
            return "the server answered \(status)"
        }
        if self.transfer.response.head.range == .reject(.protocolError),
            let status = self.transfer.response.head.value?.status
        {
            return self.text(aboutUnexpected: status)
        }
        if case .rangeMismatch = failure { return "the server does not continue the body where it ended" }
        if self.code == CURLE_OK, let text = self.transfer.response.incompleteText { return text }
        if let text = self.ownText ?? self.transfer.request?.value.proxy.flatMap(self.text(about:)) { return text }
        if [.reset, .protocolError].contains(failure), let text = self.transfer.connection.http2.text { return text }
        if let text = self.serverText(of: failure) { return text }
        if let message = self.transfer.easy.errorMessage { return message }
        return self.code == CURLE_OK ? "the body ended before its length" : CurlError.text(of: self.code)
    }

    private func text(aboutUnexpected status: Int) -> String {
        switch status {
        case 101: "the server switched to another protocol (101) instead of answering"
        case _ where self.transfer.request?.value.resume == nil:
            "the server sent a part that was not requested (\(status))"
        default: "the server answered \(status) to the request for the rest of the body"
        }
    }

    // Texts for failures that libcurl describes badly or not at all.
    private var ownText: String? {
        let tls = self.transfer.request?.value.tls ?? TLSOptions()
        switch self.code {
        case CURLE_SSL_CACERT_BADFILE: return self.authorityError
        case CURLE_SSL_CRL_BADFILE:
            let file = tls.crlFile ?? ""
            let problem =
                Self.revocationListProblem(of: self.transfer, CURLE_PEER_FAILED_VERIFICATION)
                ?? (access(file, R_OK) == 0 ? "it has no CRL in PEM form" : SystemError.message(errno))
            return "the CRL file \(file) cannot be used: \(problem)"
        case CURLE_SSL_CLIENTCERT where tls.clientCertificate != nil || tls.inline.certificate != nil:
            return "the server refused the client certificate" + (tls.clientCertificate.map { " \($0)" } ?? "")
        case CURLE_SSL_CLIENTCERT: return "the server requires a client certificate, and none is configured for it"
        case CURLE_SSL_CERTPROBLEM: return tls.clientError
        case CURLE_OUT_OF_MEMORY where self.transfer.connection.starts > 0:
            return "the response has a header field of more than 100 KiB"
        default: return nil
        }
    }

    private func text(about proxy: Proxy) -> String? {
        switch self.code {
        case CURLE_LOGIN_DENIED:
            if let text = self.replyText(of: proxy) { return text }
            let status = self.transfer.easy.long(CURLINFO_HTTP_CONNECTCODE)
            return status == 407 || status == 0
                ? "the proxy \(proxy) requires other credentials" : "the proxy \(proxy) refuses the tunnel (\(status))"
        case CURLE_PROXY:
            return self.replyText(of: proxy)
                ?? self.transfer.easy.errorMessage.map { "the proxy \(proxy) made no connection: \($0)" }
        case CURLE_PEER_FAILED_VERIFICATION where self.isAboutProxy:
            return self.certificateError.map { "the proxy \(proxy) is not trusted: \($0.description(of: nil))" }
        // libcurl's text would contain the proxy's password.
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_URL_MALFORMAT:
            return "the proxy \(proxy) cannot be used: its host is not found, or its user and password are not encoded"
        default: return nil
        }
    }

    private var proxyAnswer: ProxyAnswer? {
        guard [CURLE_LOGIN_DENIED, CURLE_PROXY].contains(self.code), self.transfer.abortReason == nil else {
            return nil
        }
        return switch Self.reply(to: self.transfer) {
        case _ where self.code == CURLE_LOGIN_DENIED: .denied
        case CURLPX_REPLY_NETWORK_UNREACHABLE, CURLPX_REPLY_TTL_EXPIRED: .unreachable
        case CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_UNASSIGNED, CURLPX_REQUEST_FAILED: .unclear
        default: .failed
        }
    }

    // libcurl's code for the reply of a SOCKS proxy, or for its failure.
    private static func reply(to transfer: CurlTransfer) -> CURLproxycode {
        let number =
            transfer.easy.long(CURLINFO_HTTP_CONNECTCODE) == 0 ? transfer.easy.long(CURLINFO_PROXY_ERROR) : 0
        return CURLproxycode(UInt32(clamping: number))
    }

    // The replies of SOCKS (RFC 1928 6), which libcurl quotes as numbers; nil for failures without one of these.
    private func replyText(of proxy: Proxy) -> String? {
        let target = self.transfer.request?.value.url.target
        let host = target?.shownHost ?? "the server"
        return switch Self.reply(to: self.transfer) {
        case CURLPX_REPLY_GENERAL_SERVER_FAILURE: "the proxy \(proxy) reports a general failure"
        case CURLPX_REPLY_NOT_ALLOWED: "the rules of the proxy \(proxy) do not allow the connection to \(host)"
        case CURLPX_REPLY_NETWORK_UNREACHABLE: "the proxy \(proxy) cannot reach the network of \(host)"
        case CURLPX_REPLY_HOST_UNREACHABLE: "the proxy \(proxy) cannot reach the host \(host)"
        case CURLPX_REPLY_CONNECTION_REFUSED: "\(host) refused the connection from the proxy \(proxy)"
        case CURLPX_REPLY_TTL_EXPIRED: "packets from the proxy \(proxy) to \(host) expired on their way"
        case CURLPX_REPLY_COMMAND_NOT_SUPPORTED: "the proxy \(proxy) does not support outgoing connections"
        case CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED where target?.address == nil:
            "the proxy \(proxy) does not support this type of address; use "
                + (proxy.scheme == .socks5h ? "socks5" : "socks5h")
        case CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED: "the proxy \(proxy) does not support addresses such as \(host)"
        case CURLPX_REQUEST_FAILED: "the proxy \(proxy) rejected the connection to \(host), or could not make it"
        case CURLPX_IDENTD: "the proxy \(proxy) requires an identd on this host, and reaches none"
        case CURLPX_IDENTD_DIFFER: "the proxy \(proxy) finds another user in the identd of this host"
        default: nil
        }
    }

    // libcurl does not say what is wrong with the file.
    private var authorityError: String {
        guard let file = self.transfer.request?.value.tls.caFile else {
            return "the system's authorities cannot be read"
        }
        let reason =
            access(file, R_OK) == 0
            ? X509Certificate.damage(inPEM: Array(FileManager.default.contents(atPath: file) ?? Data()))
                ?? "no certificate in PEM form in it" : SystemError.message(errno)
        return "the file of authorities \(file) cannot be used: \(reason)"
    }

    // What is wrong with our own list, which libcurl reports as the server's (X509_V_ERR_*).
    private static func revocationListProblem(of transfer: CurlTransfer, _ code: CURLcode) -> String? {
        guard code == CURLE_PEER_FAILED_VERIFICATION, transfer.request?.value.tls.crlFile != nil else { return nil }
        let result = transfer.connection.chainError ?? 0
        return switch result {
        case 3: "it has no CRL from an issuer in the chain"
        case 11: "its CRL is not valid yet"
        case 12: "its CRL has expired"
        case 5, 8, 15, 16, 33, 36, 44, 54: "OpenSSL refuses its CRL (error \(result))"
        default: nil
        }
    }

    // The kind of a proxy's refusal, which libcurl has no single code for: CURLE_LOGIN_DENIED if it denies this host
    // access or cannot serve the request, CURLE_PROXY if it could not connect; nil if it refused nothing.
    private static func proxyRefusal(of transfer: CurlTransfer) -> CURLcode? {
        guard transfer.request?.value.proxy != nil, transfer.connection.starts == 0 else { return nil }
        switch transfer.easy.long(CURLINFO_HTTP_CONNECTCODE) {
        case 400..<500: return CURLE_LOGIN_DENIED
        case 300..<400, 500...: return CURLE_PROXY
        default: break
        }
        let denials = [
            CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_REPLY_NOT_ALLOWED, CURLPX_REPLY_COMMAND_NOT_SUPPORTED,
            CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER,
        ]
        return denials.contains(Self.reply(to: transfer)) ? CURLE_LOGIN_DENIED : nil
    }
}

extension TLSOptions {
    // libcurl would report it in the words of OpenSSL's error queue.
    fileprivate var clientError: String? {
        // Inline texts are checked earlier.
        guard self.inline == InlinePEM(), let file = self.clientCertificate else { return nil }
        let keyFile = self.clientKey ?? file
        for (kind, file) in [("certificate", file), ("key", keyFile)] where access(file, R_OK) != 0 {
            return "the client \(kind) \(file) cannot be used: \(SystemError.message(errno))"
        }
        let identity = ClientIdentity(
            certificate: Array(FileManager.default.contents(atPath: file) ?? Data()),
            key: Array(FileManager.default.contents(atPath: keyFile) ?? Data()))
        return identity.problem(certificateName: file, keyName: keyFile)
    }
}

extension SocketError {
    /// The socket error for an error number; nil for 0.
    package init?(errorNumber: Int32) {
        switch errorNumber {
        case 0: return nil
        case ECONNREFUSED: self = .refused
        case ENETUNREACH, ENETDOWN: self = .networkUnreachable
        case EHOSTUNREACH: self = .hostUnreachable
        case ETIMEDOUT: self = .timedOut
        case ECONNRESET, EPIPE: self = .reset
        case EADDRNOTAVAIL: self = .addressNotAvailable
        case EACCES, EPERM: self = .prohibited
        case EINVAL: self = .blackholed
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .noResources
        default: self = .other
        }
    }
}

extension HandshakeFailure {
    // SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST, SSL_R_UNEXPECTED_MESSAGE, SSL_R_WRONG_VERSION_NUMBER,
    // SSL_R_RECORD_LAYER_FAILURE and SSL_R_BAD_RECORD_TYPE (openssl/sslerr.h).
    private static let noRecords: Set<UInt32> = [198, 156, 244, 267, 313, 443]
    /// SSL_R_UNEXPECTED_EOF_WHILE_READING.
    private static let endOfStream: UInt32 = 294

    /// Parses the failure from libcurl's text about a failed handshake.
    ///
    /// libcurl passes OpenSSL's error only as text: `error:0A00010B:SSL routines::wrong version number`
    /// (ERR_error_string(3)). Without a code in the text the connection was lost.
    init(curlText text: String?) {
        guard let (code, reason) = text.flatMap(Self.error(in:)) else {
            self = .brokenOff
            return
        }
        self.init(code: code, notTLS: Self.noRecords, endOfStream: Self.endOfStream, reason: reason)
    }

    /// OpenSSL's error code in a text from libcurl, and the reason after it; nil if none exists.
    static func error(in text: String) -> (code: UInt32, reason: String)? {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let place = fields.firstIndex(where: { $0 == "error" || $0 == " error" }),
            fields.count > place + 1, let code = UInt32(fields[place + 1], radix: 16)
        else { return nil }
        let reason = fields.last.map { $0.prefix { $0 != "," } } ?? ""
        return (code, String(reason))
    }
}
