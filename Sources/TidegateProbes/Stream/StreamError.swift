internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

/// Why a probe's connection ended early.
enum StreamError: Error {
    case timedOut
    case lineTooLong
    /// The peer closed the connection during the handshake.
    case closed
    /// The peer closed the connection instead of answering.
    case closedWithoutAnswer
    /// The module does not accept the server's certificate, for this reason.
    case certificate(String)

    /// True for a stream that ends without the closing alert, which some servers omit (RFC 8446 6.1).
    static func isEnd(_ error: any Error) -> Bool { error as? NIOSSLError == .uncleanShutdown }
}

/// A failure of a connection, in the form that attribution needs.
struct StreamFailure {
    let failure: TaskFailure
    let stage: Stage
    var socketError: SocketError?
    /// What went wrong, as one clause.
    let text: String
    /// The socket's error number (errno(3)); 0 for none.
    private(set) var errorNumber: Int32 = 0
    /// The ICMP error that ended the connection, and the local address that received it.
    var refusal: (error: ICMPError, local: IPAddress?)?
    /// True if the kernel rejected the connection during connect(2) itself.
    var isImmediate = false
    /// True if the server rejected this host's certificate, or required one and got none.
    var lacksClientCertificate = false

    init(_ error: any Error, during stage: Stage) {
        self.stage = stage
        switch error {
        case StreamError.timedOut, ChannelError.connectTimeout, TCPConnector.Failure.timedOut:
            (self.failure, self.text) = (.timedOut, "no answer in time")
        case TCPConnector.Failure.failed(let code, let isImmediate, let error, let local):
            self.refusal = error.map { ($0, local) }
            (self.failure, self.text) = (.connectFailed, SystemError.message(code))
            (self.socketError, self.isImmediate) = (SocketError(errorNumber: code), isImmediate)
        case StreamError.certificate(let text): (self.failure, self.text) = (.tlsFailed, text)
        case StreamError.closed:
            (self.failure, self.text) = (.tlsFailed, "\(HandshakeFailure.brokenOff)")
        case StreamError.closedWithoutAnswer:
            (self.failure, self.text) = (.reset, "the server closed the connection without an answer")
            self.socketError = .reset
        // A server that closes with unread data sends a reset instead of a normal end.
        case let error as IOError where stage == .tls && SocketError(errorNumber: error.errnoCode) == .reset:
            (self.failure, self.text) = (.tlsFailed, "\(HandshakeFailure.brokenOff)")
        case let error as IOError:
            self.socketError = SocketError(errorNumber: error.errnoCode)
            self.errorNumber = error.errnoCode
            self.failure = stage == .connect ? .connectFailed : .reset
            self.text = SystemError.message(error.errnoCode)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            let failure = HandshakeFailure(error)
            self.lacksClientCertificate = failure?.isAboutClientCertificate ?? false
            self.failure = .tlsFailed
            self.text = failure.map { "\($0)" } ?? "the server does not speak TLS as it should"
        default: (self.failure, self.text) = (stage == .connect ? .connectFailed : .reset, "\(error)")
        }
    }
}

extension StreamFailure {
    /// The responsible party of a failure at a Unix socket, and the problem (connect(2), unix(7)).
    ///
    /// No network is involved. The server is responsible for whatever its program decides: whether it runs, listens and
    /// accepts.
    var atSocket: (party: FaultParty, text: String) {
        guard self.stage == .connect else { return (self.lacksClientCertificate ? .mine : .theirs, self.text) }
        return switch self.errorNumber {
        case ENOENT: (.theirs, "the socket does not exist: the program that creates it is not running")
        case ECONNREFUSED: (.theirs, "no program listens at the socket")
        case EAGAIN: (.theirs, "the program at the socket accepts no connections, and its backlog is full")
        case EACCES: (.mine, "this user may not write to the socket, or not enter its directory")
        case EPROTOTYPE: (.mine, "the socket is for datagrams, and not for connections")
        case ENOTDIR: (.mine, "a part of the path is not a directory")
        case 0 where self.failure == .timedOut: (.theirs, self.text)
        default: (.mine, self.text)
        }
    }
}

extension HandshakeFailure {
    // SSL_R_BAD_PACKET_LENGTH, SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST,
    // SSL_R_UNEXPECTED_MESSAGE, SSL_R_UNEXPECTED_RECORD and SSL_R_WRONG_VERSION_NUMBER (openssl/ssl.h of BoringSSL).
    private static let noRecords: Set<UInt32> = [112, 136, 146, 156, 223, 225, 247]

    /// The failure behind an error of swift-nio-ssl; nil if the error does not show one.
    init?(_ error: any Error) {
        let stack: NIOBoringSSLErrorStack
        switch error {
        // A stream that ends with or without a closing alert.
        case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])), NIOSSLError.handshakeFailed(.zeroReturn):
            self = .brokenOff
            return
        case NIOSSLError.shutdownFailed(.sslError(let errors)): stack = errors
        case NIOSSLError.handshakeFailed(.sslError(let errors)): stack = errors
        // In TLS 1.3 a server may reject this host's certificate after its own handshake.
        case BoringSSLError.sslError(let errors): stack = errors
        default: return nil
        }
        // `Error: 268436502 error:10000416:SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_UNKNOWN at …`: the
        // description is the only access to the code and the words.
        let parts = stack.first.map { "\($0)".split(separator: " ") } ?? []
        guard parts.count > 3, let code = UInt32(parts[1]) else { return nil }
        let reason = parts[3].split(separator: ":").last ?? parts[3]
        self.init(
            code: code, notTLS: Self.noRecords, endOfStream: nil,
            reason: reason.lowercased().split(separator: "_").joined(separator: " "))
    }
}
