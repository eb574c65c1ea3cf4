/// What is wrong with the target itself.
package enum ServerCause: Sendable, Hashable, CauseKind {
    /// The connection was refused.
    case refused
    /// Its own link does not find it; the router that says so.
    case gone(ICMPError?)
    /// It is on this host's own link, and no neighbour has its address.
    case absent(IPAddress, link: String)
    /// The host is there, and this port does not answer.
    case portSilent
    /// It refuses with an ICMP error of its own.
    case prohibits(ICMPError)
    /// It does not answer the TLS handshake.
    case handshakeSilent
    /// It breaks the connection during the handshake.
    case handshakeReset
    /// What it speaks is not TLS.
    case notTLS
    /// It refuses the handshake; the alert or error in words.
    case handshakeRefused(String)
    /// Its certificate is not accepted here.
    case certificate(CertificateError, CertificateSummary?)
    /// It takes the request and does not answer.
    case responseSilent
    /// It breaks the connection instead of answering.
    case responseReset
    /// It stops in the middle of its answer.
    case bodyStopped
    /// What it answers is not HTTP.
    case notHTTP
    /// It answers with an error.
    case status(Int)

    package var description: String {
        switch self {
        case .refused: "the connection was refused"
        case .gone(let error):
            "the host does not answer on its own link" + (error?.offender.map { ", says the router \($0)" } ?? "")
        case .absent(let address, let link): "no host on \(link) has the address \(address)"
        case .portSilent: "the host is there, and this port does not answer"
        case .prohibits(let error): "the host itself says: \(error.kind) (\(error.number))"
        case .handshakeSilent: "the server does not answer the TLS handshake"
        case .handshakeReset: HandshakeFailure.brokenOff.description
        case .notTLS: HandshakeFailure.notTLS.description
        case .handshakeRefused(let text): text
        case .certificate(let error, let certificate): error.description(of: certificate)
        case .responseSilent: "the server took the request and does not answer"
        case .responseReset: "the server broke the connection instead of answering"
        case .bodyStopped: "the server sent no more of its answer"
        case .notHTTP: "what answers there does not speak HTTP"
        case .status(let status): "the server answered \(status)"
        }
    }

    var code: String {
        switch self {
        case .refused: "refused"
        case .gone: "hostGone"
        case .absent: "hostAbsent"
        case .portSilent: "portSilent"
        case .prohibits: "hostProhibits"
        case .handshakeSilent: "handshakeSilent"
        case .handshakeReset: "handshakeReset"
        case .notTLS: "notTLS"
        case .handshakeRefused: "handshakeRefused"
        case .certificate(let error, _): error.code
        case .responseSilent: "responseSilent"
        case .responseReset: "responseReset"
        case .bodyStopped: "bodyStopped"
        case .notHTTP: "notHTTP"
        case .status: "httpStatus"
        }
    }
}
