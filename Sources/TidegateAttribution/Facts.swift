internal import TidegateCore

/// Evidence, and the conclusions from it that rules share.
struct Facts: Sendable {
    /// The sender of an ICMP error, as a sentence names it.
    enum Sender: String, Sendable {
        case thisHost = "this host"
        case destination = "the host itself"
        case gateway = "the gateway"
        case router = "a router on the way"
    }

    /// The evidence.
    let seen: FailureEvidence
    /// The silent party, if nothing else is known.
    let silent: SilenceEvidence.Silent
    /// True if no router stands between this host and the silent party.
    let isOnLink: Bool
    /// The state of the gateway; unknown if it is irrelevant to the silent party.
    let gateway: SilenceEvidence.Gateway
    /// All other witnesses, without those that are irrelevant to the silent party.
    let witnesses: [Witness]
    /// True if something beyond the gateway answered.
    let isBeyondProven: Bool
    /// The verdict that shows that this host had no path, and when.
    let lost: (verdict: Verdict, moment: String)?

    init(_ seen: FailureEvidence) {
        self.seen = seen
        if case .silent(let servers)? = seen.lookup {
            self.silent = .resolvers(servers)
        } else {
            self.silent = seen.failure == .resolveFailed ? .resolvers([]) : .target
        }
        self.isOnLink = !seen.isOfThisPath && seen.isOnLink
        // Anything beyond a router says nothing about a host on this side of it.
        let isUnrelated = self.silent == .target && self.isOnLink
        self.gateway = isUnrelated ? .unknown : seen.gateway
        self.witnesses = isUnrelated ? [] : seen.allWitnesses
        self.isBeyondProven = self.witnesses.contains(where: \.isBeyondGateway)
        self.lost = [(seen.after, "when it failed"), (seen.before, "when it started")].first {
            $0.0.level != .unknown && $0.0.level < .routed
        }
    }

    /// The state of the gateway if nothing beyond it answers; nil otherwise.
    var nearGateway: SilenceEvidence.Gateway? { self.isBeyondProven ? nil : self.gateway }

    /// True if an endpoint beyond the gateway answered, rather than only a router on the way.
    var isEndProven: Bool { self.witnesses.contains(where: \.isEnd) }

    /// True if every queried resolver answers by now: the resolver was slow, or packets were lost.
    var areResolversProven: Bool {
        // The answer of another server says nothing about a resolver of this host.
        if case .resolvers(let servers) = self.silent, !servers.isEmpty, servers.allSatisfy(\.isLoopback) {
            return false
        }
        let resolvers = self.witnesses.filter { $0.kind == .resolver }
        return !resolvers.isEmpty && resolvers.allSatisfy(\.isEnd)
    }

    /// True if the diagnosis has any other witness.
    var isAnyoneAsked: Bool { !self.witnesses.isEmpty }

    /// The last answering router of each hop walk.
    var lastRouters: [IPAddress] {
        self.witnesses.compactMap { if case .router(let address) = $0.reach { address } else { nil } }
    }

    /// The last answering router, if packets to at least two networks get no further.
    ///
    /// Nil for a target on this side of every router. If a resolver is silent, or the first router beyond the gateway
    /// has no route, one walk that ends there is enough.
    var commonEnd: IPAddress? {
        guard self.silent != .target || !self.seen.isOnLink, !self.isEndProven else { return nil }
        let routers = Set(self.lastRouters)
        let isEdge = self.witnesses.contains { witness in
            witness.isEdge
                && (self.silent != .target && !self.seen.isOnLink || witness.refusal?.kind == .noRoute)
        }
        let isCommon = isEdge || self.witnesses.count { $0.kind == .hopWalk } > 1
        return routers.count == 1 && isCommon ? routers.first : nil
    }

    /// True if the target's host itself has answered; for a host on the link, finding its link-layer address is an
    /// answer.
    var isHostThere: Bool {
        if self.witnesses.contains(where: { $0.reach == .destination }) { return true }
        guard self.silent == .target, self.seen.isOnLink else { return false }
        if case .answers = self.gateway { return true }
        return self.gateway == .none
    }

    /// The cause if name servers on this host's link fail and no host beyond the gateway answers; nil if one does.
    ///
    /// Without a witness, either they or the provider may be responsible.
    var forwarderCause: Cause? {
        guard self.seen.isForwarded, !self.isEndProven else { return nil }
        guard self.isAnyoneAsked else { return .unknown(.forwarder) }
        return self.lastRouters.first.map { .provider(.ends(after: $0)) }
            ?? .provider(.nothingBeyond(gateway: self.gateway.address))
    }

    /// True for the error of a socket that a filter of this host or a router on the way may have caused as well.
    var isOfUnknownSender: Bool {
        let errors: [SocketError?] = [.refused, .networkUnreachable, .hostUnreachable]
        return errors.contains(self.seen.socketError) && self.seen.refusal == nil && !self.seen.isImmediate
            && !self.isThisHost && self.lost == nil && !self.hasPathMoved
    }

    /// True if packets reach the gateway.
    var isGatewayReached: Bool { self.witnesses.contains { $0.reach == .gateway } }

    /// The path of the packets at the time of failure, else at the start.
    var path: NetworkPath? { self.seen.after.path ?? self.seen.before.path }

    /// The interface that packets leave by.
    var link: String { self.path?.interface ?? "the link" }

    /// True if the path moved under the attempt.
    var hasPathMoved: Bool {
        guard let before = self.seen.before.path, let after = self.seen.after.path else { return false }
        return !before.isSamePath(as: after)
    }

    /// True if the target is an address of this host.
    var isThisHost: Bool { self.seen.peer?.isLoopback ?? false || self.seen.after.notes.contains(.thisHost) }

    /// The ICMP error and its sender; nil if none came.
    var refusal: (error: ICMPError, sender: Sender)? {
        guard let error = self.seen.refusal else { return nil }
        let paths = [self.seen.after.path, self.seen.before.path]
        let isOwn =
            error.offender == nil || error.isFrom(self.seen.local) || paths.contains { error.isFrom($0?.source) }
        if isOwn { return (error, .thisHost) }
        if error.isFrom(self.seen.peer) { return (error, .destination) }
        return (error, paths.contains { error.isFrom($0?.gateway) } ? .gateway : .router)
    }

    /// The ICMP error, if it is of this kind and came from one of these senders.
    func refusal(_ kind: ICMPError.Kind, from senders: Sender...) -> ICMPError? {
        self.refusal.flatMap { $0.error.kind == kind && senders.contains($0.sender) ? $0.error : nil }
    }

    /// The captive portal that answers; nil if none was found.
    var portal: Cause? {
        if case .portal(let location)? = self.seen.internet { return .provider(.portal(location: location)) }
        // Network Authentication Required (RFC 6585 6) comes from the network, never from the server.
        if self.seen.status == 511, self.seen.certificate == nil { return .provider(.portal(location: nil)) }
        // How requests fail when a captive portal answers them.
        let isSymptom = self.isAny(
            of: .tlsFailed, .tlsPinMismatch, .httpStatus, .protocolError, .reset, .digestMismatch)
        return isSymptom && self.seen.after.level == .portal ? .provider(.portal(location: nil)) : nil
    }

    /// True if TLS failed.
    var isTLS: Bool { self.isAny(of: .tlsFailed, .tlsPinMismatch) }

    /// What other remotes show about a silence; nil if the target answered.
    var remotes: RemotesEvidence? { self.isAny(of: .timedOut) ? self.seen.remotes : nil }

    /// True if the failure is one of these kinds.
    func isAny(of failures: TaskFailure...) -> Bool { failures.contains(self.seen.failure) }

    /// The rung that showed the failure; nil for a failure on this host alone.
    var rung: Rung? {
        if let rung = self.seen.rung { return rung }
        switch self.seen.failure {
        case .tooLarge, .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .cancelled: return nil
        default: break
        }
        if let lost = self.lost { return (lost.verdict.reason ?? .noRoute).rung }
        switch self.seen.failure {
        case .resolveFailed: return .dns
        case .tlsFailed, .tlsPinMismatch: return .tls
        case .httpStatus, .protocolError, .truncated, .rangeMismatch, .digestMismatch: return .http
        default: break
        }
        return self.seen.stage?.rung ?? .tcp
    }

    // Observations as clauses of an attribution.
    /// The clauses for a cause; none for a rung, which has evidence of its own.
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

    /// The meaning of a socket error, for the connected host.
    var socketClause: String { self.seen.socketError?.clause(host: self.host) ?? "" }

    /// The host connected to; behind a proxy that answers, the silent host may be a server.
    var host: String {
        guard let proxy = self.seen.proxy else { return self.seen.peer.map { "\($0)" } ?? "the host" }
        switch self.seen.stage {
        case .resolve, .connect, nil: return "the proxy \(proxy)"
        case .tls, .request, .response, .body: return "the proxy \(proxy), or the server behind it,"
        }
    }

    private func clauses(of error: ICMPError, _ sender: Sender, _ cause: Cause) -> [String] {
        // The bare address would be mistaken for the server's.
        let proxy = self.seen.proxy.map { ", connecting to the proxy \($0)" } ?? ""
        let clause = error.sentence(about: self.seen.peer, role: sender.rawValue) + proxy
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
        case .thisHost, .router, .provider(.nothingBeyond(.some)), .provider(.ends), .provider(.silentLine),
            .onTheWay(.ends(.some)), .onTheWay(.silentTunnel), .onTheWay(.tunnelEnds), .server(.portSilent):
            // Before the first connect, nothing could have been answered.
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

extension FailureEvidence {
    /// Evidence of silence alone.
    init(_ silence: SilenceEvidence) {
        self.init(
            failure: silence.silent == .target ? .timedOut : .resolveFailed, before: .unknown, after: .unknown)
        self = self.adding(silence)
        if case .resolvers(let servers) = silence.silent { self.lookup = .silent(servers) }
        (self.fittingPacket, self.isOfThisPath, self.shown) = (silence.fittingPacket, true, silence.shown)
    }

    /// The latest diagnosis, and the results of attempts to other hosts.
    fileprivate var allWitnesses: [Witness] {
        if self.peers.reached > 0 { return self.witnesses + [Witness(.attempt, .beyond(nil))] }
        return self.peers.missed > 0 ? self.witnesses + [Witness(.attempt, .nothing)] : self.witnesses
    }

    // Behind a proxy that answers, the silent party may be a server beyond it.
    var isOnLink: Bool {
        guard self.proxy == nil || [nil, .resolve, .connect].contains(self.stage) else { return false }
        return (self.after.path == nil ? self.before : self.after).isOnLink(self.peer)
    }
}

extension NetworkPath {
    /// The link and the gateway: `eth0 via 10.0.0.1`.
    var hop: String { self.gateway.map { "\(self.interface) via \($0)" } ?? self.interface }
}
