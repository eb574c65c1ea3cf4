import Testing
import TidegateAttribution
import TidegateCore

/// The table of measured socket evidence, one row each, in both versions of IP.
@Suite struct AttributionTableTests {
    /// Who sent an ICMP error in a row.
    enum Offender: Sendable {
        case own, gateway, router, destination
    }

    /// What an error says in a row.
    enum Says: Sendable {
        case noRoute, hostUnreachable, portUnreachable, prohibited

        func number(_ family: AddressFamily) -> (type: UInt8, code: UInt8) {
            switch (self, family) {
            case (.noRoute, .ipv4): (3, 0)
            case (.noRoute, .ipv6): (1, 0)
            case (.hostUnreachable, .ipv4): (3, 1)
            case (.hostUnreachable, .ipv6): (1, 3)
            case (.portUnreachable, .ipv4): (3, 3)
            case (.portUnreachable, .ipv6): (1, 4)
            case (.prohibited, .ipv4): (3, 13)
            case (.prohibited, .ipv6): (1, 1)
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let situation: String
        var error: SocketError?
        var icmp: (Offender, Says)?
        var isImmediate = false
        var isOnLink = false
        var failure = TaskFailure.connectFailed
        var stage = Stage.connect
        var peers = PeerEvidence()
        /// The latest diagnosis: the gateway answers, and nothing beyond it does.
        var isProviderDead = false
        let party: FaultParty
        let rung: Rung
        /// The last piece of evidence; `T`, `G`, `R` and `X` stand for this host, the gateway, a router and the target.
        let phrase: String

        var testDescription: String { self.situation }
    }

    static let rows: [Row] = [
        Row(
            situation: "no route of our own", error: .networkUnreachable, isImmediate: true, party: .mine, rung: .route,
            phrase: "this host has no route to X"),
        Row(
            situation: "an unreachable route of our own", error: .hostUnreachable, isImmediate: true, party: .mine,
            rung: .route, phrase: "a route of this host makes X unreachable"),
        Row(
            situation: "a prohibit route of our own, or a dropping filter", error: .prohibited, isImmediate: true,
            party: .mine, rung: .route, phrase: "a rule or a filter of this host forbids X"),
        Row(
            situation: "a blackhole route of our own", error: .blackholed, isImmediate: true, party: .mine,
            rung: .route,
            phrase: "a blackhole route of this host discards packets to X"),
        Row(
            situation: "a link-local address without its interface", error: .lacksInterface, isImmediate: true,
            party: .mine, rung: .route,
            phrase: "X is a link-local address and needs its interface, as in [fe80::1%25eth0]"),
        Row(
            situation: "the source address is gone", error: .addressNotAvailable, party: .mine, rung: .address,
            phrase: "this host has no source address for X"),
        Row(
            situation: "a rejecting filter of our own", error: .hostUnreachable, icmp: (.own, .prohibited),
            party: .mine,
            rung: .route, phrase: "T (this host) says: administratively prohibited at X (N)"),
        Row(
            situation: "a rejecting filter of our own, as if nobody listened", error: .refused,
            icmp: (.own, .portUnreachable), party: .mine, rung: .route,
            phrase: "T (this host) says: port unreachable at X (N)"),
        Row(
            situation: "a dead gateway", error: .hostUnreachable, icmp: (.own, .hostUnreachable), party: .gateway,
            rung: .gateway, phrase: "T (this host) says: host unreachable at X (N)"),
        Row(
            situation: "a dead host on the link", error: .hostUnreachable, icmp: (.own, .hostUnreachable),
            isOnLink: true, party: .theirs, rung: .tcp,
            phrase: "T (this host) says: host unreachable at X (N)"),
        Row(
            situation: "the gateway has no route", error: .networkUnreachable, icmp: (.gateway, .noRoute),
            party: .upstream, rung: .tcp, phrase: "G (the gateway) says: no route to X (N)"),
        Row(
            situation: "a router beyond has no route", error: .networkUnreachable, icmp: (.router, .noRoute),
            party: .path, rung: .tcp, phrase: "R (a router on the way) says: no route to X (N)"),
        Row(
            situation: "a router beyond has no route, and others answer", error: .networkUnreachable,
            icmp: (.router, .noRoute), peers: PeerEvidence(reached: 2), party: .path, rung: .tcp,

            phrase: "R (a router on the way) says: no route to X (N)"),
        Row(
            situation: "a dead host behind the gateway", error: .hostUnreachable, icmp: (.gateway, .hostUnreachable),
            party: .theirs, rung: .tcp, phrase: "G (the gateway) says: host unreachable at X (N)"),
        Row(
            situation: "a dead host far away", error: .hostUnreachable, icmp: (.router, .hostUnreachable),
            party: .theirs, rung: .tcp,
            phrase: "R (a router on the way) says: host unreachable at X (N)"),
        Row(
            situation: "a filter of the gateway's", error: .hostUnreachable, icmp: (.gateway, .prohibited),
            party: .gateway, rung: .tcp,
            phrase: "G (the gateway) says: administratively prohibited at X (N)"),
        Row(
            situation: "a filter on the way", error: .hostUnreachable, icmp: (.router, .prohibited), party: .path,
            rung: .tcp, phrase: "R (a router on the way) says: administratively prohibited at X (N)"),
        Row(
            situation: "a filter of the host's own", error: .refused, icmp: (.destination, .portUnreachable),
            party: .theirs, rung: .tcp,
            phrase: "X (the host itself) says: port unreachable at X (N)"),
        Row(
            situation: "a closed port", error: .refused, party: .theirs, rung: .tcp,
            phrase: "X refused the connection"),
        Row(
            situation: "silence", failure: .timedOut, party: .unknown, rung: .tcp,
            phrase: "4 SYNs to X went unanswered"),
        Row(
            situation: "silence, while others answer", failure: .timedOut,
            peers: PeerEvidence(reached: 1, missed: 3),
            party: .path, rung: .tcp,
            phrase: "1 other host on eth0 via G answered in the last 30 s"),
        Row(
            situation: "silence all around", failure: .timedOut, peers: PeerEvidence(missed: 3),
            party: .upstream,
            rung: .tcp, phrase: "nor did 3 other hosts on eth0 via G in the last 30 s"),
        Row(
            situation: "a connection, and no handshake", failure: .timedOut, stage: .tls, party: .theirs, rung: .tls,
            phrase: "X accepted the connection and did not answer the handshake"),
        Row(
            situation: "a reset in the handshake", error: .reset, failure: .reset, stage: .tls, party: .theirs,
            rung: .tls, phrase: "X broke the connection during the handshake"),
        Row(
            situation: "a request, and no answer", failure: .timedOut, stage: .response, party: .theirs, rung: .http,
            phrase: "X took the request and did not answer"),
        Row(
            situation: "an answer that stops", failure: .stalled, stage: .body, party: .unknown, rung: .http,
            phrase: "X sent no more of its answer"),
        Row(
            situation: "an answer that stops, while others go on", failure: .stalled, stage: .body,
            peers: PeerEvidence(reached: 2), party: .theirs, rung: .http,
            phrase: "2 other hosts on eth0 via G answered in the last 30 s"),
        Row(
            situation: "a request to a host on the link, and no answer, while the provider is dead", isOnLink: true,
            failure: .timedOut, stage: .response, isProviderDead: true, party: .theirs, rung: .http,
            phrase: "X took the request and did not answer"),
        Row(
            situation: "a request, and no answer, while the provider is dead", failure: .timedOut, stage: .response,
            isProviderDead: true, party: .upstream, rung: .http,
            phrase: "the gateway G answers, and nothing beyond it does"),
        Row(
            situation: "an answer of a host on the link that stops, while the provider is dead", isOnLink: true,
            failure: .stalled, stage: .body, isProviderDead: true, party: .theirs, rung: .http,
            phrase: "X sent no more of its answer"),
        Row(
            situation: "silence of a host on the link, while the provider is dead", isOnLink: true, failure: .timedOut,
            isProviderDead: true, party: .unknown, rung: .tcp, phrase: "4 SYNs to X went unanswered"),
    ]

    @Test("Every row of the table, in both versions of IP", arguments: Self.rows, AddressFamily.allCases)
    func row(_ row: Row, _ family: AddressFamily) throws {
        let isIPv4 = family == .ipv4
        let own = try #require(IPAddress(isIPv4 ? "10.0.0.2" : "2001:db8::2"))
        let gateway = try #require(IPAddress(isIPv4 ? "10.0.0.1" : "2001:db8::1"))
        let router = try #require(IPAddress(isIPv4 ? "192.0.2.77" : "2001:db8:77::1"))
        let target = try #require(IPAddress(isIPv4 ? "198.51.100.2" : "2001:db8:2::2"))
        let path = NetworkPath(interface: "eth0", index: 2, gateway: row.isOnLink ? nil : gateway, source: own)
        let verdict = Verdict(level: .routed, path: path)
        var number = ""
        let refusal = row.icmp.map { offender, says in
            let address = [Offender.own: own, .gateway: gateway, .router: router, .destination: target][offender]
            let (type, code) = says.number(family)
            number = "\(isIPv4 ? "ICMP" : "ICMPv6") \(type)/\(code)"
            return ICMPError(offender: address, type: type, code: code)
        }
        let judged = DecisionTable.attribution(
            of: FailureEvidence(
                failure: row.failure, stage: row.stage, socketError: row.error, refusal: refusal, peer: target,
                local: own, isImmediate: row.isImmediate, unanswered: 4, before: verdict, after: verdict,
                peers: row.peers, gateway: row.isProviderDead ? .answers(gateway) : .unknown,
                witnesses: row.isProviderDead ? [Witness(.hopWalk, .gateway)] : []))
        let blame = try #require(judged)
        #expect(blame.party == row.party)
        #expect(blame.rung == row.rung)
        let names = ["X": "\(target)", "G": "\(gateway)", "R": "\(router)", "T": "\(own)", "N": number]
        #expect(blame.evidence.last == self.filled(row.phrase, names))
    }

    @Test(
        "A silent gateway is judged as a host on the link, and a tunnel as a way beyond it",
        arguments: AddressFamily.allCases)
    func onLink(_ family: AddressFamily) throws {
        let isIPv4 = family == .ipv4
        let gateway = try #require(IPAddress(isIPv4 ? "10.0.0.1" : "fe80::1"))
        func attribution(_ verdict: Verdict, to peer: IPAddress, by proxy: String? = nil) -> Attribution? {
            var evidence = FailureEvidence(
                failure: .timedOut, stage: .response, peer: peer, before: verdict, after: verdict,
                gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .gateway)])
            evidence.proxy = proxy
            return DecisionTable.attribution(of: evidence)
        }
        var verdict = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 2, gateway: gateway))
        let zoned = try #require(isIPv4 ? gateway : IPAddress("fe80::1%2"))
        let own = attribution(verdict, to: zoned)
        #expect(own?.party == .theirs && own?.cause == .server(.responseSilent))
        #expect(own?.silence == nil, "no later diagnosis charges it to the provider")
        let far = try #require(IPAddress(isIPv4 ? "198.51.100.2" : "2001:db8:2::2"))
        #expect(attribution(verdict, to: far)?.party == .upstream)
        verdict.path?.gateway = nil
        #expect(attribution(verdict, to: far)?.party == .theirs)
        #expect(
            attribution(verdict, to: far, by: "proxy.example:3128")?.party == .upstream, "the server behind a proxy")
        verdict.notes = [.tunnel]
        #expect(attribution(verdict, to: far)?.party == .upstream)
        #expect(attribution(verdict, to: far)?.silence == .target)
    }

    @Test("Who sent an error is known without our own address, too: by the path")
    func ownByPath() throws {
        let path = NetworkPath(
            interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"))
        let verdict = Verdict(level: .routed, path: path)
        let refusal = ICMPError(offender: IPAddress("10.0.0.2"), type: 3, code: 1)
        let judged = DecisionTable.attribution(
            of: FailureEvidence(failure: .connectFailed, refusal: refusal, before: verdict, after: .unknown))
        #expect(judged?.party == .gateway)
        #expect(judged?.evidence.first == "the gateway 10.0.0.1 does not answer on eth0")
    }

    // Single capital letters that stand alone are names.
    private func filled(_ phrase: String, _ names: [String: String]) -> String {
        var text = ""
        for (place, word) in phrase.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            let core = word.filter { $0 != "(" && $0 != ")" }
            let name = names[String(core)].map { word.hasPrefix("(") ? "(\($0))" : $0 }
            text += (place == 0 ? "" : " ") + (name ?? String(word))
        }
        return text
    }
}
