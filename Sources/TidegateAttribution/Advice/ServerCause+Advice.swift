internal import TidegateCore

extension ServerCause {
    func advice(for target: Target) -> String {
        switch self {
        case .refused: "Start the service on \(target), or check the port: the host is there and refuses."
        case .gone: "Check that \(target.shownHost) is switched on and attached to its network."
        case .absent(let address, let link):
            "Check that \(address) is switched on and attached to the network of \(link)."
        case .portSilent: "Allow port \(target.port.map { "\($0)" } ?? "used") in the firewall of \(target.shownHost)."
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
}

extension CertificateError {
    fileprivate func advice(for target: Target) -> String {
        switch self {
        case .expired: "Renew the certificate of \(target); if it is valid, this host's clock is wrong (date)."
        case .notYetValid: "Check this host's clock (date): the certificate of \(target) is from the future."
        case .selfSigned:
            "Give \(target) a certificate of an authority, or trust this one: --cacert FILE."
        case .unknownIssuer:
            "Trust its authority (--cacert FILE), or let \(target) send its intermediate certificates."
        case .wrongName:
            "Use a name that the certificate is for, or give \(target) a certificate for \(target.shownHost)."
        case .revoked: "Give \(target) a new certificate."
        case .other: "Look at the certificate: openssl s_client -connect \(target.host):\(target.port ?? 443)."
        }
    }
}
