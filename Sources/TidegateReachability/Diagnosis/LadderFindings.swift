internal import Glibc
internal import TidegateAttribution
internal import TidegateCore
internal import TidegateLoop
internal import TidegateNetwork

/// All findings of a diagnosis; its explanation is composed from them.
struct LadderFindings: Sendable {
    var target: ExplainTarget
    /// The families to explain, in order.
    var families: [AddressFamily]
    /// Why the kernel cannot be read; nil while it can.
    var unavailableReason: String?
    /// When the diagnosis was made.
    var wallTime = WallTime(microseconds: 0)
    var health = ReachabilityStatus.Health()
    var links: [Link] = []
    /// The links over which traffic may cost money.
    var costlyLinks: Set<String> = []
    /// The findings about the name; nil if the host is an address.
    var name: NameFindings?
    var paths: [AddressFamily: PathFindings] = [:]
}

/// The resolvers' answers about the target's name.
struct NameFindings: Sendable {
    var name: String
    /// The system's answer, including the hosts file; nil if none arrived in time.
    var system: Result<[IPAddress], ResolveFailure>?
    var servers: [ResolverFindings] = []
    /// The servers that a resolver of this host asks; empty if that answers, or if they are not known.
    var upstreams: [ResolverFindings] = []
    /// How many names of the search list are asked before the one that exists.
    var searched = 0
    /// True if resolv.conf lists no server.
    var namesNoServer = false
    /// True if resolv.conf could not be opened for lack of a descriptor.
    var isUnread = false
    /// The name's addresses in /etc/hosts.
    var hostsFile: [IPAddress] = []
    /// The hop walks to silent resolvers.
    var walks: [IPAddress: HopWalkResult] = [:]
    /// The gateways probed while resolvers were silent.
    var gateways: [IPAddress: GatewayFindings] = [:]
    /// Whether previously reached targets accepted a connection in the meantime.
    var targets: [IPAddress: HTTPCheck.Result] = [:]

    /// True if only resolvers of this host are asked, and none of them answered.
    var isOwnResolverSilent: Bool {
        !self.servers.isEmpty && self.servers.allSatisfy { $0.server.isLoopback && !$0.hasAnswered }
    }

    /// True if targets were asked and none of them answered.
    var areTargetsCutOff: Bool { !self.targets.isEmpty && self.targets.values.allSatisfy(\.isUnanswered) }

    /// How long the fastest server took to answer; nil if none answered.
    var delay: Duration? { self.servers.compactMap(\.delay).min() }

    /// True if the servers' silence has another cause: every gateway is gone, or all walks end at the same router.
    var isSilenceExplained: Bool {
        let isGone = !self.gateways.isEmpty && self.gateways.values.allSatisfy { $0.answer == .unresolved }
        // A walk to a server on the link proves nothing about what lies beyond it.
        let onLink = self.servers.filter { $0.verdict.path?.gateway == nil }.map(\.server)
        let reaches = self.walks.filter { !onLink.contains($0.key) }.map { address, walk in
            walk.reach(past: self.gateways.keys.first { $0.family == address.family }, asking: address)
        }
        let ends = Set(reaches.filter { $0 != .nothing })
        guard ends.count == 1, let end = ends.first else { return isGone }
        return isGone || end == .gateway || reaches.count > 1 && !Witness(.hopWalk, end).isEnd
    }

    /// The addresses to continue with: the system's, or else those that a server answered.
    var addresses: [IPAddress] {
        switch self.system {
        case .success(let addresses)?: return addresses
        // Another server's answer does not help programs: the system accepts the first denial.
        case .failure(.nameNotFound)?: return []
        case .failure?, nil:
            return self.servers.flatMap(\.addresses).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        }
    }
}

/// The answers of one resolver, and whether packets reach it.
struct ResolverFindings: Sendable {
    var server: IPAddress
    /// The kernel's verdict on the path to the resolver.
    var verdict: Verdict
    /// The name as it was asked for it, search domains included.
    var asked = ""
    /// Its answers about the name, by record type.
    var answers: [DNSQuestion.RecordType: DNSOutcome] = [:]
    /// Its answer about a name that is known to exist; nil if it was not queried.
    var control: DNSOutcome?
    /// Its answer about a name that does not exist; nil if it was not queried.
    var unrelated: DNSOutcome?
    /// True if it answered that name and failed for one that it cannot have kept, which is then its control.
    var hasOnlyKept = false
    /// How long its first answer took; nil if it has not answered.
    var delay: Duration?

    /// True if it has answered, whether or not the name exists.
    var hasAnswered: Bool { self.outcomes.contains(where: \.isAnswer) }

    /// True if programs go on to the next domain of the search list.
    var isPassedOver: Bool {
        self.answers.values.allSatisfy { if case .failed = $0 { true } else { [.nameNotFound, .noData].contains($0) } }
    }

    /// True if it is on this host's own link or on this host itself, so that it asks others beyond the gateway.
    var isForwarder: Bool {
        self.verdict.path.map { $0.gateway == nil && !self.verdict.notes.contains(.tunnel) } ?? false
    }

    /// True if it denies the name that is known to exist.
    var deniesControl: Bool { self.control == .nameNotFound }

    /// How late it answers; nil if it answers fast or not at all.
    var lateness: Duration? { self.delay.flatMap { $0 < Thresholds.slowName ? nil : $0 } }

    /// Records an answer to a question sent at `start`.
    mutating func record(_ outcome: DNSOutcome, sent start: MonotonicTime, at now: MonotonicTime) {
        if outcome.isAnswer { self.delay = min(self.delay ?? now - start, now - start) }
    }

    /// The addresses of the name from its answers.
    var addresses: [IPAddress] {
        DNSQuestion.RecordType.allCases.flatMap { type -> [IPAddress] in
            guard case .answered(let addresses, _)? = self.answers[type] else { return [] }
            return addresses
        }
    }

    /// Every answer, with the control question's last.
    var outcomes: [DNSOutcome] {
        DNSQuestion.RecordType.allCases.compactMap { self.answers[$0] } + [self.control].compactMap(\.self)
    }
}

/// The findings about one family's path.
struct PathFindings: Sendable {
    /// The destination of the path.
    enum Subject: Sendable, Hashable {
        /// The target itself.
        case target(IPAddress)
        /// A resolver, because the target's name has no address yet.
        case resolver(IPAddress)
        /// The internet as a whole, if no resolver has an address of this family.
        case sentinel(IPAddress)

        var address: IPAddress {
            switch self {
            case .target(let address), .resolver(let address), .sentinel(let address): address
            }
        }
    }

    var subject: Subject
    /// Every address of the target in this family.
    var addresses: [IPAddress] = []
    /// The addresses without a route, while others have one.
    var unrouted: [IPAddress: Verdict] = [:]
    var verdict = Verdict.unknown
    /// The unusable link that a matching route leads to.
    var deadLink: UInt32?
    var explanation: RouteExplanation?
    var gateway = GatewayFindings()
    /// The observations of internet checks; nil if none are configured.
    var internet: [InternetObservation]?
    /// The result at each address tried, including the subject's.
    var web: [IPAddress: HTTPCheck.Result] = [:]
    /// What recent requests over this path proved, and how long ago.
    var passive: PassiveFindings?
    /// What connections of other programs proved at the end; nil if they are not observed.
    var connections: ConnectionFindings?
    /// The hop walk to the subject; nil if it was not silent.
    var walk: HopWalkResult?
    /// A public address behind the same gateway; nil if none was looked for.
    var sentinel: IPAddress?
    /// True if packets have the source address that those to the internet have.
    var hasUsualSource = true
    /// True if the subject is the gateway of the default path itself: a router that resolves names.
    var leadsToGateway = false
    /// The port of the target; nil if it has none.
    var port: UInt16?
    /// The hop walk towards the internet over the same gateway; nil if none was needed.
    var sentinelWalk: HopWalkResult?
    /// The largest known packet that passes where larger ones are lost, in bytes; nil if none are known to be lost.
    var fittingPacket: Int?
    /// How many packets this host dropped meanwhile because they came in by another link than answers would leave by.
    var misrouted: UInt64 = 0
    /// How many packets a filter of this host dropped while the walk to the target ran, above the usual.
    var dropped: UInt64 = 0
    /// The entries of this host's table of connections if that is full; nil otherwise.
    var fullTable: (count: UInt64, limit: UInt64)?
    /// The packets of a tunnel without an answer; nil if the path leads into none, or an answer came first.
    var tunnel: TunnelFindings?
    /// The other links that default routes lead out by, if the way that is used does not work.
    var otherWays: [Uplink] = []
    /// The ICMP error for a packet to a target on the link; nil if nothing was sent or the target answered.
    var neighbourRefusal: ICMPError?

    /// Adds the walks, and what this host showed meanwhile.
    mutating func add(_ walk: HopWalkResult?, _ sentinel: HopWalkResult?, _ host: HostEvidence?) {
        (self.walk, self.sentinelWalk, self.dropped) = (walk, sentinel, host?.undeliveredPackets ?? 0)
        guard let count = host?.trackedConnections, let limit = host?.trackedLimit, limit > 0 else { return }
        self.fullTable = count >= limit - limit / 50 ? (count, limit) : nil
    }

    /// True for a tunnel without a gateway inside it.
    var isInTunnel: Bool { self.verdict.notes.contains(.tunnel) && self.verdict.path?.gateway == nil }

    /// True if the kernel has a route, even one that leads to a link that is down.
    var hasRoute: Bool { self.verdict.path != nil || self.deadLink != nil }

    /// The gateway whose forwarding this path proves: a resolver on the link that is the gateway proves nothing beyond
    /// it.
    var provenGateway: IPAddress? {
        if case .resolver(let address) = self.subject, self.leadsToGateway { return address }
        return self.verdict.path?.gateway
    }

    /// The gateway as evidence about silence.
    var gatewayEvidence: SilenceEvidence.Gateway {
        guard let path = self.verdict.path else { return .unknown }
        if let gateway = path.gateway { return self.gateway.evidence(gateway, on: path.interface) }
        guard self.leadsToGateway else { return self.gateway.resolvesNeighbours ? .none : .unknown }
        let address = self.subject.address
        if self.neighbourRefusal != nil { return .unresolved(address, link: path.interface, wasReachable: false) }
        let hasAnswered = self.walk?.isDestinationReached ?? false || self.sentinelWalk?.firstHop != nil
        if hasAnswered { return .answers(address) }
        return self.gateway.probedAgo == nil
            ? .unconfirmed(address, link: path.interface, age: nil) : self.gateway.evidence(address, on: path.interface)
    }

    /// True if the target or its gateway was contacted and has not answered.
    var isSilent: Bool {
        if case .target = self.subject, !self.web.values.contains(where: { $0.hasReached(.connect) }) { return true }
        return self.gateway.probedAgo != nil && !self.gateway.hasAnswered
    }

    /// True if other answers explain the target's silence, so that callers need not wait for it.
    var isSilenceExplained: Bool {
        if self.fittingPacket != nil || self.neighbourRefusal != nil || self.gateway.answer == .unresolved {
            return true
        }
        guard let walk = self.walk else { return false }
        // A port that accepts connections is slow rather than silent until its time is up.
        if let arrival = walk.arrival { return arrival.how != .connected }
        let gateway = self.provenGateway
        let reaches = [walk, self.sentinelWalk].compactMap { $0?.reach(past: gateway, asking: self.subject.address) }
        let isAlive = reaches.contains(.gateway) || self.gateway.answer.map { $0 != .unresolved } ?? false
        let hasRefused = walk.refusal != nil || self.sentinelWalk?.refusal != nil
        return !hasRefused && isAlive && reaches.allSatisfy { $0 == .gateway || $0 == .nothing }
    }
}

/// The packets of a silent tunnel, and of the path below it.
struct TunnelFindings: Sendable, Hashable {
    /// The path of the tunnel's own packets.
    struct Underlay: Sendable, Hashable {
        var link: String?
        var gateway: IPAddress?
        /// A walk to the far end's own address, or to a public one over the same gateway; nil if none was allowed.
        var walk: HopWalkResult?
    }

    let link: String
    /// The packets that it took, and those that it brought back.
    var sent: UInt64 = 0
    var received: UInt64 = 0
    /// The walk inside it.
    var inside: HopWalkResult?
    /// Nil if no route leads past it.
    var below: Underlay?

    /// True for the line itself rather than a tunnel over one, by the kernel's name for such links (pppd(8)).
    var isLine: Bool { self.link.hasPrefix("ppp") }

    /// True if the destination answered the walk.
    var isAnswering: Bool { self.inside?.isDestinationReached ?? false }
}

extension LadderFindings {
    /// True if a packet was not sent for lack of a descriptor: silence then proves nothing.
    var lackedDescriptor: Bool {
        let (name, paths) = (self.name ?? NameFindings(name: ""), self.paths.values)
        let walks = paths.compactMap(\.walk) + paths.compactMap(\.sentinelWalk) + name.walks.values
        let gateways = paths.map(\.gateway) + name.gateways.values
        let answers = paths.flatMap { Array($0.web.values) } + name.targets.values
        return name.isUnread || name.servers.contains { $0.outcomes.contains(.failed(code: "EMFILE")) }
            || walks.contains { $0.failure.map(DescriptorShortage.isReason) ?? false }
            || gateways.contains { $0.udpProbe == .failed(EMFILE) || $0.udpProbe == .failed(ENFILE) }
            || answers.contains { $0.socketError == .noResources }
    }
}

extension NameFindings {
    /// Why the name has no address, according to its servers.
    func failure(_ reason: UnreachableReason, _ wanted: AddressFamily?) -> LookupFailure {
        if reason != .nameNotFound, let failure = self.upstreamFailure { return failure }
        switch reason {
        case .resolverTimeout:
            let partial = self.servers.first { $0.control?.isAnswer ?? false && $0.answers.values.contains(.timedOut) }
            if let partial { return .silentAbout(self.name, by: partial.server) }
            return .silent(self.servers.filter { $0.outcomes.contains(.timedOut) }.map(\.server))
        case .nameNotFound: return self.missing(wanted)
        default: break
        }
        if self.namesNoServer { return .noServer }
        for server in self.servers {
            for case .failed(let code) in server.outcomes { return .fails(server.server, code: code) }
        }
        let refusing = self.servers.first { $0.outcomes.contains(.refused) }
        return refusing.map { .refused($0.server) } ?? .fails(self.servers.first?.server, code: nil)
    }

    /// How the servers fail that a resolver of this host asks; nil if one answers, or if they are not known.
    private var upstreamFailure: LookupFailure? {
        guard let first = self.upstreams.first else { return nil }
        let isDead = !self.upstreams.contains(where: \.hasAnswered)
        if isDead { return .silent(self.upstreams.map(\.server)) }
        // They answer other questions, and fail for the name as the resolver does.
        let answers = self.upstreams.flatMap(\.answers.values)
        guard !answers.isEmpty, !answers.contains(where: \.isAnswer) else { return nil }
        for case .failed(let code) in answers { return .fails(first.server, code: code) }
        return .silentAbout(self.name, by: first.server)
    }

    /// True if a server is on this host's own link or on this host itself, so that it asks others beyond the gateway.
    var isForwarded: Bool { self.servers.contains(where: \.isForwarder) }

    /// True if a server on this host's own link found a name that it cannot have kept, so that it reaches others.
    var isAskedBeyond: Bool { self.servers.contains { $0.isForwarder && $0.hasAnswered && !$0.hasOnlyKept } }

    /// True if no server answers for a name that is known to exist, and one denies it.
    var isDenied: Bool {
        self.servers.contains(where: \.deniesControl) && !self.servers.contains { $0.hasAnswered && !$0.deniesControl }
    }

    private func missing(_ wanted: AddressFamily?) -> LookupFailure {
        // An address of the other IP version proves that the resolver works.
        if !self.addresses.isEmpty { return .noRecord(self.name, of: wanted) }
        let denying = self.servers.first { $0.answers.values.contains(.nameNotFound) }
        if denying == nil, self.servers.contains(where: { $0.answers.values.contains(.noData) }) {
            return .noRecord(self.name, of: nil)
        }
        let isKnownElsewhere = AddressFamily.allCases.contains { !self.answered($0).isEmpty }
        return .denied(
            self.name, by: denying?.server,
            deniesOthers: denying.map { isKnownElsewhere || $0.control == .nameNotFound } ?? false)
    }

    /// The servers' answers for a family.
    func answered(_ family: AddressFamily) -> [IPAddress] {
        let all = self.servers.flatMap { server -> [IPAddress] in
            guard case .answered(let addresses, _)? = server.answers[DNSQuestion.RecordType(family)] else { return [] }
            return addresses
        }
        return all.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The address in an answer for a public name that no public name can have, and the server that sent it.
    var blocked: (server: IPAddress?, answer: IPAddress)? {
        guard self.name != "localhost", !self.name.hasSuffix(".localhost"), self.hostsFile.isEmpty,
            let answer = self.addresses.first,
            // 0.0.0.0, :: or a loopback address, which filters answer instead of the real address.
            self.addresses.allSatisfy({ $0.isLoopback || $0.octets.allSatisfy { $0 == 0 } })
        else { return nil }
        let server = self.servers.first { server in
            server.answers.values.contains {
                if case .answered(let all, _) = $0 { all.contains(answer) } else { false }
            }
        }
        return (server?.server, answer)
    }
}

extension PathFindings {
    /// The kernel's report on the path to a subject.
    init(_ subject: Subject, _ report: RouteReport) {
        self.init(subject: subject)
        guard let path = report.routes[subject.address] else { return }
        (self.verdict, self.deadLink, self.explanation) = (path.verdict, path.deadLink, path.explanation)
        if let sentinel = report.sentinels[subject.address.family],
            let gateway = report.routes[sentinel]?.verdict.path?.gateway
        {
            self.hasUsualSource = report.routes[sentinel]?.verdict.path?.source == path.verdict.path?.source
            self.leadsToGateway = gateway == subject.address
            if self.leadsToGateway || gateway == path.verdict.path?.gateway { self.sentinel = sentinel }
        }
        self.gateway = report.gateway(subject.address)
    }
}

extension HostFindings {
    /// The conclusions from the findings of a diagnosis of the internet.
    init(_ findings: LadderFindings, walked: Bool = true) {
        self.walked = walked
        self.isForwarderAnswering = findings.name?.servers.contains { $0.isForwarder && $0.hasAnswered } ?? false
        self.proof = HostProof(paths: findings.paths.compactMapValues(\.verdict.path))
        self.explanation = ExplanationComposer.compose(findings)
        self.answering = findings.paths.filter {
            $0.value.internet.map(ConnectivityEvaluator.connectivity) == .full
        }.map(\.key)
        for (family, path) in findings.paths where path.verdict.level >= .routed && !findings.lackedDescriptor {
            let finder = CauseFinder(findings: findings, path: path)
            // An answer from a public address proves nothing about another target's host.
            let witnesses = finder.witnesses.map {
                $0.reach == .destination ? Witness($0.kind, .beyond(path.subject.address), refusal: $0.refusal) : $0
            }
            var evidence = SilenceEvidence(silent: .target, gateway: path.gatewayEvidence, witnesses: witnesses)
            if !witnesses.contains(where: \.isEnd) {
                (evidence.shown, evidence.link) = (finder.shown, path.verdict.path?.interface)
            }
            if case .portal(let location)? = path.internet.map(ConnectivityEvaluator.connectivity) {
                evidence.portal = .portal(location: location)
            }
            self.proof.evidence[family] = evidence
        }
        // If nothing works at all, a family without any party to contact fails like the other one.
        guard self.explanation.conclusion == .broken,
            let known = self.proof.evidence.values.first(where: { !$0.witnesses.isEmpty }),
            !known.witnesses.contains(where: \.isBeyondGateway)
        else { return }
        for (family, own) in self.proof.evidence where own.witnesses.isEmpty { self.proof.evidence[family] = known }
    }
}
