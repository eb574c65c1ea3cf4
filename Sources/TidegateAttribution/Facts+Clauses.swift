internal import TidegateCore

// What was seen, as clauses of an attribution.
extension Facts {
    /// The clauses of an attribution by its cause; none for a rung, which has evidence of its own.
    func clauses(of cause: Cause) -> [String] {
        if self.seen.isOfThisPath { return [] }
        let text = self.seen.text.isEmpty ? [] : [self.seen.text]
        if case .provider(.portal) = cause { return ["a captive portal answers on this path"] + text }
        switch self.seen.failure {
        case .resolveFailed: return ["the resolver gave no answer"]
        case .tlsFailed, .tlsPinMismatch: return text.isEmpty ? ["TLS failed after a connection"] : text
        case .httpStatus: return [self.seen.status.map { "the server answered \($0)" } ?? "the server refused"]
        default: break
        }
        if let refusal = self.refusal { return self.clauses(of: refusal.error, refusal.sender, cause) }
        switch self.seen.socketError {
        case .reset: return [self.resetClause]
        case let error?: if let clause = error.clause(host: self.host) { return [clause] }
        case nil: break
        }
        return self.silenceClauses(cause)
    }

    /// What a socket error says, about the host connected to.
    var socketClause: String { self.seen.socketError?.clause(host: self.host) ?? "" }

    /// Who was connected to: behind a proxy that answers, a server may be the silent one.
    var host: String {
        guard let proxy = self.seen.proxy else { return self.seen.peer.map { "\($0)" } ?? "the host" }
        switch self.seen.stage {
        case .resolve, .connect, nil: return "the proxy \(proxy)"
        case .tls, .request, .response, .body: return "the proxy \(proxy), or the server behind it,"
        }
    }

    private func clauses(of error: ICMPError, _ sender: Sender, _ cause: Cause) -> [String] {
        // The address alone would be taken for the server's.
        let proxy = self.seen.proxy.map { ", connecting to the proxy \($0)" } ?? ""
        let clause = error.sentence(about: self.seen.peer, role: sender.role) + proxy
        return switch cause {
        case .router(.absent(let gateway, let link)): ["the gateway \(gateway) does not answer on \(link)", clause]
        case .server(.absent(let host, let link)): ["\(host) does not answer on \(link)", clause]
        case .thisHost(.filter): ["a filter of this host refuses it", clause]
        default: [clause]
        }
    }

    private var resetClause: String {
        switch self.seen.stage {
        case .tls: "\(self.host) broke the connection during the handshake"
        case .request, .response: "\(self.host) broke the connection and did not answer"
        case .body: "\(self.host) broke the connection during its answer"
        case .resolve, .connect, nil: "the connection was reset"
        }
    }

    private func silenceClauses(_ cause: Cause) -> [String] {
        switch cause {
        case .server(.handshakeSilent), .server(.responseSilent): return [self.silenceClause]
        case .router, .provider(.nothingBeyond(.some)), .provider(.ends), .onTheWay(.ends(.some)), .server(.portSilent):
            // Before a connection was tried, there was nothing that could have been answered.
            let clause = self.seen.stage == nil ? [] : [self.silenceClause]
            return clause + [cause.description] + self.otherHosts
        default: return [self.silenceClause] + self.otherHosts
        }
    }

    private var silenceClause: String {
        switch self.seen.stage {
        case .tls: return "\(self.host) accepted the connection and did not answer the handshake"
        case .request, .response: return "\(self.host) took the request and did not answer"
        case .body: return "\(self.host) sent no more of its answer"
        case .resolve, .connect, nil:
            let count = self.seen.unanswered
            return count > 0
                ? "\(count) SYN\(count == 1 ? "" : "s") to \(self.host) went unanswered"
                : "no answer, and nothing says why"
        }
    }

    private var otherHosts: [String] {
        let peers = self.seen.peers
        let path = self.path.map { " on \($0.hop)" } ?? ""
        let age = "in the last \(Thresholds.evidenceAge.components.seconds) s"
        if peers.reached > 0 {
            return ["\(peers.reached) other host\(peers.reached == 1 ? "" : "s")\(path) answered \(age)"]
        }
        guard peers.missed > 0 else { return [] }
        return ["nor did \(peers.missed) other host\(peers.missed == 1 ? "" : "s")\(path) \(age)"]
    }
}

extension NetworkPath {
    /// The link and the gateway: `eth0 via 10.0.0.1`.
    var hop: String { self.gateway.map { "\(self.interface) via \($0)" } ?? self.interface }
}
