extension Attribution {
    /// Judges by an error number alone, or by silence.
    static func socket(_ evidence: FailureEvidence) -> Attribution {
        let host = evidence.peer.map { "\($0)" } ?? "the host"
        switch evidence.socketError {
        case .refused:
            return self.answered(.tcp, isCertain: true, "\(host) refused the connection")
        case .reset: return self.reset(evidence, host)
        case .networkUnreachable:
            if evidence.isImmediate { return self.mine(.route, "this host has no route to \(host)") }
            return Attribution(
                party: .upstream, rung: .tcp, isCertain: false, evidence: ["a router reported no route to \(host)"])
        case .hostUnreachable:
            if evidence.isImmediate { return self.mine(.route, "a route of this host's makes \(host) unreachable") }
            return Attribution(
                party: .path, rung: .tcp, isCertain: false, evidence: ["\(host) was reported unreachable"])
        case .prohibited: return self.mine(.route, "a rule or a filter of this host's forbids \(host)")
        case .blackholed: return self.mine(.route, "a blackhole route of this host's swallows \(host)")
        case .addressNotAvailable: return self.mine(.address, "the source address is gone")
        case .timedOut, .other, nil: return self.silence(evidence, host)
        }
    }

    private static func mine(_ rung: Rung, _ phrase: String) -> Attribution {
        Attribution(party: .mine, rung: rung, isCertain: true, evidence: [phrase])
    }

    private static func answered(_ rung: Rung, isCertain: Bool, _ phrase: String) -> Attribution {
        Attribution(party: .theirs, rung: rung, isCertain: isCertain, evidence: [phrase])
    }

    private static func reset(_ evidence: FailureEvidence, _ host: String) -> Attribution {
        switch evidence.stage {
        case .tls: self.answered(.tls, isCertain: false, "\(host) broke the connection during the handshake")
        case .request, .response:
            self.answered(.http, isCertain: false, "\(host) broke the connection and did not answer")
        case .body: self.answered(.http, isCertain: false, "\(host) broke the connection during its answer")
        case .resolve, .connect, nil: self.answered(.tcp, isCertain: false, "the connection was reset")
        }
    }

    // Who was silent is told by how far it came, and then by others on the same path.
    private static func silence(_ evidence: FailureEvidence, _ host: String) -> Attribution {
        switch evidence.stage {
        case .tls: return self.answered(.tls, isCertain: false, "\(host) accepted the connection and shook no hands")
        case .request, .response:
            return self.answered(.http, isCertain: false, "\(host) took the request and did not answer")
        case .body: return self.compared(evidence, "\(host) sent no more of its answer", reached: .theirs, .http)
        case .resolve, .connect, nil:
            let count = evidence.unanswered
            let phrase =
                count > 0
                ? "\(count) SYN\(count == 1 ? "" : "s") to \(host) went unanswered"
                : "no answer, and nothing says why"
            return self.compared(evidence, phrase, reached: .path, .tcp)
        }
    }

    private static func compared(
        _ evidence: FailureEvidence, _ phrase: String, reached: FaultParty, _ rung: Rung
    ) -> Attribution {
        let peers = evidence.peers
        let way = evidence.way.map { " on \($0.phrase)" } ?? ""
        if peers.reached > 0 {
            let others = "\(peers.reached) other host\(peers.reached == 1 ? "" : "s")\(way) answered in the last 30 s"
            return Attribution(party: reached, rung: rung, isCertain: false, evidence: [phrase, others])
        }
        if peers.missed > 0 {
            let others = "nor did \(peers.missed) other host\(peers.missed == 1 ? "" : "s")\(way) in the last 30 s"
            return Attribution(party: .upstream, rung: rung, isCertain: false, evidence: [phrase, others])
        }
        return Attribution(party: .unknown, rung: rung, isCertain: false, evidence: [phrase])
    }
}
