/// Decides whose failure it was by an error number alone, or by silence.
enum SocketErrorClassifier {
    static func attribution(of evidence: FailureEvidence) -> Attribution {
        let host = self.host(evidence)
        let clause = evidence.socketError?.clause(host: host) ?? ""
        switch evidence.socketError {
        case .refused: return self.refused(evidence, clause)
        case .reset: return self.reset(evidence, host)
        case .networkUnreachable:
            if evidence.isImmediate { return self.mine(.route, clause) }
            return Attribution(
                party: .upstream, rung: .tcp, evidence: ["a router reported no route to \(host)"])
        case .hostUnreachable:
            if evidence.isImmediate { return self.mine(.route, "a route of this host makes \(host) unreachable") }
            return Attribution(
                party: .path, rung: .tcp, evidence: ["\(host) was reported unreachable"])
        case .prohibited: return self.mine(.route, clause)
        case .blackholed: return self.mine(.route, clause)
        case .addressNotAvailable: return self.mine(.address, clause)
        case .noResources: return self.mine(.monitor, clause)
        case .timedOut, .other, nil: return self.silence(evidence, host)
        }
    }

    // Who was connected to: behind a proxy that answers, a server may be the silent one.
    private static func host(_ evidence: FailureEvidence) -> String {
        guard let proxy = evidence.proxy else { return evidence.peer.map { "\($0)" } ?? "the host" }
        switch evidence.stage {
        case .resolve, .connect, nil: return "the proxy \(proxy)"
        case .tls, .request, .response, .body: return "the proxy \(proxy), or the server behind it,"
        }
    }

    private static func mine(_ rung: Rung, _ clause: String) -> Attribution {
        Attribution(party: .mine, rung: rung, evidence: [clause])
    }

    // Nobody else can open a port of this host.
    private static func refused(_ evidence: FailureEvidence, _ clause: String) -> Attribution {
        guard let peer = evidence.peer, peer.isLoopback || evidence.after.notes.contains(.thisHost) else {
            return self.answered(.tcp, clause)
        }
        return Attribution(
            cause: .thisHost(.nothingListens(peer, port: nil)), rung: .tcp, evidence: [clause])
    }

    private static func answered(_ rung: Rung, _ clause: String) -> Attribution {
        Attribution(party: .theirs, rung: rung, evidence: [clause])
    }

    private static func reset(_ evidence: FailureEvidence, _ host: String) -> Attribution {
        switch evidence.stage {
        case .tls: self.answered(.tls, "\(host) broke the connection during the handshake")
        case .request, .response:
            self.answered(.http, "\(host) broke the connection and did not answer")
        case .body: self.answered(.http, "\(host) broke the connection during its answer")
        case .resolve, .connect, nil: self.answered(.tcp, "the connection was reset")
        }
    }

    // How far the attempt came says who is silent, and then what became of others on the same path.
    private static func silence(_ evidence: FailureEvidence, _ host: String) -> Attribution {
        switch evidence.stage {
        case .tls:
            return self.silentServer(
                evidence, "\(host) accepted the connection and did not answer the handshake", .tls, .handshakeSilent)
        case .request, .response:
            return self.silentServer(
                evidence, "\(host) took the request and did not answer", .http, .responseSilent)
        case .body:
            return self.silent(
                evidence, "\(host) sent no more of its answer", .http,
                cause: evidence.peers.reached > 0 || evidence.isOnLink ? .server(.bodyStopped) : nil)
        case .resolve, .connect, nil:
            let count = evidence.unanswered
            let clause =
                count > 0
                ? "\(count) SYN\(count == 1 ? "" : "s") to \(host) went unanswered"
                : "no answer, and nothing says why"
            return self.silent(evidence, clause, .tcp, cause: nil)
        }
    }

    // A connection that stood says nothing about now if everything else is silent, too.
    private static func silentServer(
        _ evidence: FailureEvidence, _ clause: String, _ rung: Rung, _ cause: ServerCause
    ) -> Attribution {
        switch SilenceClassifier.cause(of: evidence.silence(.target)) {
        case .router, .provider: self.silent(evidence, clause, rung, cause: nil)
        case .thisHost, .resolver, .onTheWay, .server, .unknown:
            Attribution(cause: .server(cause), rung: rung, evidence: [clause])
        }
    }

    private static func silent(
        _ evidence: FailureEvidence, _ clause: String, _ rung: Rung, cause: Cause?
    ) -> Attribution {
        let cause = cause ?? SilenceClassifier.cause(of: evidence.silence(.target))
        let known: [String] =
            switch cause {
            case .router, .provider(.nothingBeyond(.some)), .onTheWay(.ends(.some)), .server(.portSilent):
                // Before a connection was tried, there was nothing that could have been answered.
                evidence.stage == nil ? [cause.description] : [clause, cause.description]
            default: [clause]
            }
        return Attribution(cause: cause, rung: rung, evidence: known + self.others(evidence))
    }

    private static func others(_ evidence: FailureEvidence) -> [String] {
        let peers = evidence.peers
        let path = evidence.path.map { " on \($0.hop)" } ?? ""
        if peers.reached > 0 {
            return ["\(peers.reached) other host\(peers.reached == 1 ? "" : "s")\(path) answered in the last 30 s"]
        }
        guard peers.missed > 0 else { return [] }
        return ["nor did \(peers.missed) other host\(peers.missed == 1 ? "" : "s")\(path) in the last 30 s"]
    }
}
