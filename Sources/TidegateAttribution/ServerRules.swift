internal import TidegateCore

/// What the server itself answers.
enum ServerRules {
    static let all: [Rule] = [
        Rule("the server does not accept this host's certificate, or none", party: .mine, rung: .tls) {
            $0.isTLS && $0.seen.lacksClientCertificate
        },
        Rule("this host does not accept the server's certificate", rung: .tls) { facts in
            (facts.isTLS ? facts.seen.certificateError : nil).map { .server(.certificate($0, facts.seen.certificate)) }
        },
        Rule("what answers speaks no TLS", rung: .tls) { $0.seen.handshake == .notTLS ? .server(.notTLS) : nil },
        Rule("the server breaks off the handshake", rung: .tls) { facts in
            facts.isTLS && (facts.seen.handshake == .brokenOff || facts.seen.socketError == .reset)
                ? .server(.handshakeReset) : nil
        },
        Rule("the handshake fails", rung: .tls) { facts in
            let text = facts.seen.text
            return facts.isTLS ? .server(.handshakeRefused(text.isEmpty ? "the TLS handshake failed" : text)) : nil
        },
        Rule("the status is about the request", rung: .http) { facts in
            guard facts.isAny(of: .httpStatus), let status = facts.seen.status, (400..<500).contains(status),
                status != 408, status != 429
            else { return nil }
            return .thisHost(.request(status: status))
        },
        Rule("the status is about the server", rung: .http) { facts in
            facts.isAny(of: .httpStatus) ? facts.seen.status.map { .server(.status($0)) } : nil
        },
        Rule("the server refused", party: .theirs, rung: .http) { $0.isAny(of: .httpStatus) },
        Rule("what answers speaks no HTTP", rung: .http) { facts in
            facts.seen.rung != nil && facts.isAny(of: .protocolError) ? .server(.notHTTP) : nil
        },
        Rule("the answer itself is wrong", party: .theirs, rung: .http) {
            $0.isAny(of: .protocolError, .truncated, .rangeMismatch, .digestMismatch)
        },
    ]
}
