internal import FoundationEssentials
internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

/// Why a connection of a probe ended early.
enum StreamError: Error {
    case timedOut
    case lineTooLong
    /// The peer closed the connection during the handshake.
    case closed
    /// The peer closed the connection instead of answering.
    case closedWithoutAnswer
    /// The server's certificate is not one that the module accepts; says why.
    case certificate(String)

    /// True for the end of a stream that some servers do not announce (RFC 8446 6.1).
    static func isEnd(_ error: any Error) -> Bool { error as? NIOSSLError == .uncleanShutdown }
}

/// A failure of a connection, as attribution takes it.
struct StreamFailure {
    let failure: TaskFailure
    let stage: Stage
    var socketError: SocketError?
    /// What went wrong, in one clause.
    let text: String
    /// The error number of the socket (errno(3)); 0 if it has none.
    private(set) var errorNumber: Int32 = 0
    /// The ICMP error that ended it, and the address of this host that it came to.
    var refusal: (error: ICMPError, local: IPAddress?)?
    /// True if the kernel refused the connection in the call that asked for it.
    var isImmediate = false
    /// True if the server refused this host's certificate, or was shown none.
    var lacksClientCertificate = false

    init(_ error: any Error, during stage: Stage) {
        self.stage = stage
        switch error {
        case StreamError.timedOut, ChannelError.connectTimeout, TCPConnector.Failure.timedOut:
            (self.failure, self.text) = (.timedOut, "no answer in time")
        case TCPConnector.Failure.failed(let code, let isImmediate, let error, let local):
            self.refusal = error.map { ($0, local) }
            (self.failure, self.text) = (.connectFailed, Self.text(ofErrorNumber: code))
            (self.socketError, self.isImmediate) = (SocketError(errorNumber: code), isImmediate)
        case StreamError.certificate(let text): (self.failure, self.text) = (.tlsFailed, text)
        case StreamError.closed:
            (self.failure, self.text) = (.tlsFailed, "\(HandshakeFailure.brokenOff)")
        case StreamError.closedWithoutAnswer:
            (self.failure, self.text) = (.reset, "the server closed the connection without an answer")
            self.socketError = .reset
        // A server that has not read everything when it closes sends a reset instead of an end.
        case let error as IOError where stage == .tls && SocketError(errorNumber: error.errnoCode) == .reset:
            (self.failure, self.text) = (.tlsFailed, "\(HandshakeFailure.brokenOff)")
        case let error as IOError:
            self.socketError = SocketError(errorNumber: error.errnoCode)
            self.errorNumber = error.errnoCode
            self.failure = stage == .connect ? .connectFailed : .reset
            self.text = Self.text(ofErrorNumber: error.errnoCode)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            let failure = HandshakeFailure(error)
            self.lacksClientCertificate = failure?.isAboutClientCertificate ?? false
            self.failure = .tlsFailed
            self.text = failure.map { "\($0)" } ?? "the server does not speak TLS as it should"
        default: (self.failure, self.text) = (stage == .connect ? .connectFailed : .reset, "\(error)")
        }
    }

    private static func text(ofErrorNumber code: Int32) -> String { unsafe String(cString: strerror(code)) }
}

extension StreamFailure {
    /// Whose failure it is at a Unix socket, where no network is between, and what is wrong (connect(2), unix(7)).
    ///
    /// The server's is everything that its program decides: whether it runs, listens and accepts.
    var atSocket: (party: FaultParty, text: String) {
        guard self.stage == .connect else { return (self.lacksClientCertificate ? .mine : .theirs, self.text) }
        return switch self.errorNumber {
        case ENOENT: (.theirs, "there is no socket of that name: the program that makes it does not run")
        case ECONNREFUSED: (.theirs, "no program listens at the socket")
        case EAGAIN: (.theirs, "the program at the socket accepts no connections, and its backlog is full")
        case EACCES: (.mine, "this user may not write to the socket, or not enter its directory")
        case EPROTOTYPE: (.mine, "the socket is for datagrams, and not for connections")
        case ENOTDIR: (.mine, "a part of the path is no directory")
        case 0 where self.failure == .timedOut: (.theirs, self.text)
        default: (.mine, self.text)
        }
    }
}

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
