/// What is wrong with the target itself.
package enum ServerCause: Sendable, Hashable {
    /// The connection was refused.
    case refused
    /// Its own link does not find it; the router that says so.
    case gone(ICMPError?)
    /// It is on this host's own link, and no neighbour has its address.
    case absent(IPAddress, link: String)
    /// The host is there, and this port does not answer.
    case portSilent
    /// Nothing of it answers, although its neighbours do.
    case silent
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
}

extension ServerCause: CauseKind {
    package var description: String {
        switch self {
        case .refused: "the connection was refused"
        case .gone(let error):
            "the host does not answer on its own link" + (error?.offender.map { ", says the router \($0)" } ?? "")
        case .absent(let address, let link): "no host on \(link) has the address \(address)"
        case .portSilent: "the host is there, and this port does not answer"
        case .silent: "the host does not answer, and its neighbours do"
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

    func advice(for target: Target) -> String {
        switch self {
        case .refused: "Start the service on \(target), or check the port: the host is there and refuses."
        case .gone: "Check that \(target.shownHost) is switched on and attached to its network."
        case .absent(let address, let link):
            "Check that \(address) is switched on and attached to the network of \(link)."
        case .portSilent: "Allow port \(target.port.map { "\($0)" } ?? "used") in the firewall of \(target.shownHost)."
        case .silent: "Check that \(target.shownHost) is switched on and that its firewall lets this host in."
        case .prohibits: "Allow this host in the firewall of \(target.shownHost)."
        case .handshakeSilent, .responseSilent:
            "Ask the operator of \(target): it accepts connections and does not answer them."
        case .handshakeReset:
            "Ask the operator of \(target): a server or a firewall in front of it breaks off TLS connections."
        case .notTLS:
            "Try http:// instead: port \(target.port.map { "\($0)" } ?? "443") there does not speak TLS."
        case .handshakeRefused: "Ask the operator of \(target) which TLS versions and certificates it takes."
        case .certificate(let error, _): error.advice(for: target)
        case .responseReset, .bodyStopped: "Ask the operator of \(target): it takes requests and breaks them off."
        case .notHTTP: "Check the port: what listens at \(target) is not a web server."
        case .status(429): "Send fewer requests: \(target) says that there are too many."
        case .status(503): "Try again later: \(target) says that it is not available now."
        case .status(let status): "Ask the operator of \(target), or try again later: it answers with \(status)."
        }
    }

    var code: String {
        switch self {
        case .refused: "refused"
        case .gone: "hostGone"
        case .absent: "hostAbsent"
        case .portSilent: "portSilent"
        case .silent: "hostSilent"
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
