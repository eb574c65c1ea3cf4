/// What is wrong with the target itself.
package enum ServerCause: Sendable, Hashable {
    /// The connection was refused.
    case refused
    /// Its own link does not find it; the router that reports this.
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
    /// Its protocol is not TLS.
    case notTLS
    /// It refuses the handshake; the alert or error as text.
    case handshakeRefused(String)
    /// Its certificate is not accepted here.
    case certificate(CertificateError, CertificateSummary?)
    /// It takes the request and does not answer.
    case responseSilent
    /// It breaks the connection instead of answering.
    case responseReset
    /// It stops in the middle of its answer.
    case bodyStopped
    /// Its answer is not HTTP.
    case notHTTP
    /// It answers with an error.
    case status(Int)

    /// The texts; `server` is how the clause names it.
    func texts(of server: String = "the server") -> CauseTexts {
        switch self {
        case .refused: ("refused", "the connection was refused")
        case .gone(let error):
            (
                "hostGone",
                "the host does not answer on its own link" + (error?.offender.map { ", says the router \($0)" } ?? "")
            )
        case .absent(let address, let link): ("hostAbsent", "no host on \(link) has the address \(address)")
        case .portSilent: ("portSilent", "the host is there, and this port does not answer")
        case .prohibits(let error): ("hostProhibits", "the host itself says: \(error.kind) (\(error.number))")
        case .handshakeSilent: ("handshakeSilent", "\(server) does not answer the TLS handshake")
        case .handshakeReset: ("handshakeReset", HandshakeFailure.brokenOff.description)
        case .notTLS: ("notTLS", HandshakeFailure.notTLS.description)
        case .handshakeRefused(let text): ("handshakeRefused", text)
        case .certificate(let error, let certificate): (error.code, error.description(of: certificate))
        case .responseSilent: ("responseSilent", "\(server) took the request and does not answer")
        case .responseReset: ("responseReset", "\(server) broke the connection instead of answering")
        case .bodyStopped: ("bodyStopped", "\(server) sent no more of its answer")
        case .notHTTP: ("notHTTP", "what answers there does not speak HTTP")
        case .status(let status): ("httpStatus", "\(server) answered \(status)")
        }
    }
}
