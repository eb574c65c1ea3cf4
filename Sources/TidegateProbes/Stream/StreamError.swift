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
    /// True if the kernel refused the connection in the call that asked for it.
    var isImmediate = false
    /// True if the server refused this host's certificate, or was shown none.
    var lacksClientCertificate = false

    init(_ error: any Error, during stage: Stage) {
        self.stage = stage
        switch error {
        case StreamError.timedOut, ChannelError.connectTimeout, TCPConnector.Failure.timedOut:
            (self.failure, self.text) = (.timedOut, "no answer in time")
        case TCPConnector.Failure.failed(let code, let isImmediate):
            (self.failure, self.text) = (.connectFailed, Self.text(ofErrorNumber: code))
            (self.socketError, self.isImmediate) = (SocketError(errorNumber: code), isImmediate)
        case StreamError.certificate(let text): (self.failure, self.text) = (.tlsFailed, text)
        case StreamError.closed:
            (self.failure, self.text) = (.tlsFailed, "the server closed the connection during the handshake")
        case StreamError.closedWithoutAnswer:
            (self.failure, self.text) = (.reset, "the server closed the connection without an answer")
            self.socketError = .reset
        // A server that has not read everything when it closes sends a reset instead of an end.
        case let error as IOError where stage == .tls && SocketError(errorNumber: error.errnoCode) == .reset:
            (self.failure, self.text) = (.tlsFailed, "the server closed the connection during the handshake")
        case let error as IOError:
            self.socketError = SocketError(errorNumber: error.errnoCode)
            self.failure = stage == .connect ? .connectFailed : .reset
            self.text = Self.text(ofErrorNumber: error.errnoCode)
        case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
            (self.failure, self.text) = (.tlsFailed, "the server closed the connection during the handshake")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            let alert = TLSAlert(error)
            self.lacksClientCertificate = alert?.isAboutClientCertificate ?? false
            self.failure = .tlsFailed
            self.text =
                alert.map { "the server refused the handshake: \($0)" } ?? "the server does not speak TLS as it should"
        default: (self.failure, self.text) = (stage == .connect ? .connectFailed : .reset, "\(error)")
        }
    }

    private static func text(ofErrorNumber code: Int32) -> String { unsafe String(cString: strerror(code)) }
}

/// A fatal alert of a server (RFC 8446 6).
struct TLSAlert: CustomStringConvertible {
    private let number: Int

    /// BoringSSL's reasons for alerts that were received are their numbers, from 1000.
    private static let firstReason = 1000

    /// The alert behind an error; nil if it is another one.
    init?(_ error: any Error) {
        let stack: NIOBoringSSLErrorStack
        switch error {
        case NIOSSLError.shutdownFailed(.sslError(let errors)): stack = errors
        case NIOSSLError.handshakeFailed(.sslError(let errors)): stack = errors
        // In TLS 1.3 a server may refuse this host's certificate after its own handshake.
        case BoringSSLError.sslError(let errors): stack = errors
        default: return nil
        }
        guard let first = stack.first else { return nil }
        // `Error: 268436502 error:…`, the code of ERR_get_error(3), whose low 12 bits are the reason.
        let parts = "\(first)".split(separator: " ")
        guard parts.count > 1, let code = Int(parts[1]), case let number = (code & 0xFFF) - Self.firstReason,
            (0...255).contains(number)
        else { return nil }
        self.number = number
    }

    /// True if the certificate of this host, or that it showed none, is the reason.
    var isAboutClientCertificate: Bool { [41, 42, 43, 44, 45, 46, 48, 49, 116].contains(self.number) }

    var description: String { Self.names[self.number] ?? "alert \(self.number)" }

    private static let names = [
        10: "unexpected message", 40: "handshake failure", 41: "no certificate", 42: "bad certificate",
        43: "unsupported certificate", 44: "certificate revoked", 45: "certificate expired", 46: "certificate unknown",
        47: "illegal parameter", 48: "unknown authority", 49: "access denied", 50: "decode error",
        70: "protocol version",
        71: "insufficient security", 80: "internal error", 112: "unrecognized name", 116: "certificate required",
        120: "no application protocol",
    ]
}
