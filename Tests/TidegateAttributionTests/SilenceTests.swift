import Testing
import TidegateAttribution
import TidegateCore

/// The table of silence: who is convicted by what, one row each.
@Suite struct SilenceTests {
    private static let gateway = IPAddress(ipv4: 0x0A4D_0001)
    private static let router = IPAddress(ipv4: 0x6440_0001)
    private static let resolver = IPAddress(ipv4: 0xCB00_7135)

    struct Row: Sendable, CustomTestStringConvertible {
        let situation: String
        var silent = SilenceEvidence.Silent.target
        var gateway = SilenceEvidence.Gateway.unknown
        var witnesses: [Witness] = []
        var fittingPacket: Int?
        let cause: Cause

        var testDescription: String { self.situation }
    }

    static let rows: [Row] = [
        Row(
            situation: "the gateway has no link-layer address, and nothing answers through it",
            gateway: .unresolved(gateway, link: "eth0", wasReachable: false),
            witnesses: [Witness(.hopWalk, .nothing)], cause: .router(.absent(gateway, link: "eth0"))),
        Row(
            situation: "the gateway has lost its link-layer address",
            gateway: .unresolved(gateway, link: "eth0", wasReachable: true),
            cause: .router(.silent(gateway, link: "eth0", lastConfirmed: nil))),
        Row(
            situation: "the gateway was last confirmed before the silence began, and nothing answers through it",
            silent: .resolvers([resolver]), gateway: .unconfirmed(gateway, link: "eth0", age: .seconds(25)),
            witnesses: [Witness(.hopWalk, .nothing)],
            cause: .router(.silent(gateway, link: "eth0", lastConfirmed: .seconds(25)))),
        Row(
            situation: "the gateway was confirmed since, but no hop at all answers",
            gateway: .confirmed(gateway), witnesses: [Witness(.hopWalk, .nothing)],
            cause: .unknown(.routerOrProvider(gateway: gateway))),
        Row(
            situation: "the gateway answers, and nothing beyond it does",
            silent: .resolvers([resolver]), gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .gateway)],
            cause: .provider(.nothingBeyond(gateway: gateway))),
        Row(
            situation: "the gateway answers the walk, and nothing else",
            gateway: .unconfirmed(gateway, link: "eth0", age: nil), witnesses: [Witness(.hopWalk, .gateway)],
            cause: .provider(.nothingBeyond(gateway: gateway))),
        Row(
            situation: "the gateway answers, and internet checks and other hosts are silent, too",
            gateway: .answers(gateway), witnesses: [Witness(.internetCheck, .nothing), Witness(.attempt, .nothing)],
            cause: .provider(.nothingBeyond(gateway: gateway))),
        Row(
            situation: "resolvers are silent, while the internet check succeeds",
            silent: .resolvers([resolver]), gateway: .answers(gateway),
            witnesses: [Witness(.internetCheck, .beyond(nil))], cause: .resolver(.silent([resolver]))),
        Row(
            situation: "resolvers were silent, and answer by now: packets were lost, or they were slow",
            silent: .resolvers([]), gateway: .answers(gateway),
            witnesses: [Witness(.resolver, .beyond(resolver)), Witness(.hopWalk, .beyond(router))],
            cause: .unknown(.silence)),
        Row(
            situation: "one of two resolvers is silent",
            silent: .resolvers([]), gateway: .answers(gateway),
            witnesses: [Witness(.resolver, .nothing), Witness(.resolver, .beyond(resolver))],
            cause: .resolver(.silent([]))),
        Row(
            situation: "resolvers are silent, and a router beyond the gateway proves only the way to itself",
            silent: .resolvers([resolver]), gateway: .unknown, witnesses: [Witness(.hopWalk, .router(router))],
            cause: .onTheWay(.ends(after: router))),
        Row(
            situation: "resolvers are silent, and walks to two networks end at the same router",
            silent: .resolvers([resolver]), gateway: .answers(gateway),
            witnesses: [Witness(.hopWalk, .router(router)), Witness(.hopWalk, .router(router))],
            cause: .provider(.ends(after: router))),
        Row(
            situation: "one walk ends at a router, and nothing comes back from the other",
            gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .router(router)), Witness(.hopWalk, .nothing)],
            cause: .provider(.ends(after: router))),
        Row(
            situation: "walks to two networks end at the same router, and another host answers",
            gateway: .answers(gateway),
            witnesses: [
                Witness(.hopWalk, .router(router)), Witness(.hopWalk, .router(router)), Witness(.attempt, .beyond(nil)),
            ],
            cause: .onTheWay(.ends(after: router))),
        Row(
            situation: "a path beyond acquits a gateway that seems dead",
            silent: .resolvers([resolver]), gateway: .unresolved(gateway, link: "eth0", wasReachable: true),
            witnesses: [Witness(.connection, .beyond(nil))], cause: .resolver(.silent([resolver]))),
        Row(
            situation: "the walk ends beyond the provider's router, while others answer",
            gateway: .answers(gateway),
            witnesses: [Witness(.hopWalk, .router(router)), Witness(.attempt, .beyond(nil))],
            cause: .onTheWay(.ends(after: router))),
        Row(
            situation: "the target is silent, while others answer",
            witnesses: [Witness(.attempt, .beyond(nil))], cause: .onTheWay(.ends(after: nil))),
        Row(
            situation: "the target's host answers at another port",
            gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .destination)], cause: .server(.portSilent)),
        Row(
            situation: "another host answers, which says nothing of the target's", gateway: .answers(gateway),
            witnesses: [Witness(.hopWalk, .nothing), Witness(.hopWalk, .beyond(resolver))],
            cause: .onTheWay(.ends(after: nil))),
        Row(
            situation: "small packets pass and large ones do not",
            gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .destination)], fittingPacket: 1400,
            cause: .onTheWay(.largePackets(link: nil, fitting: 1400))),
        Row(
            situation: "a resolver of this host is silent, and the server that it asks answers",
            silent: .resolvers([IPAddress(ipv4: 0x7F00_0035)]), gateway: .answers(gateway),
            witnesses: [Witness(.resolver, .beyond(resolver))],
            cause: .resolver(.silent([IPAddress(ipv4: 0x7F00_0035)]))),
        Row(
            situation: "a resolver on this host's own link is silent", silent: .resolvers([resolver]), gateway: .none,
            cause: .resolver(.silent([resolver]))),
        Row(
            situation: "a host on this host's own link is silent: its link-layer address was found",
            gateway: .none, cause: .server(.portSilent)),
        Row(situation: "nobody else was asked", gateway: .answers(gateway), cause: .unknown(.silence)),
        Row(situation: "nothing is known", cause: .unknown(.silence)),
    ]

    @Test("Silence means what the witnesses say", arguments: rows)
    func row(_ row: Row) {
        let evidence = SilenceEvidence(
            silent: row.silent, gateway: row.gateway, witnesses: row.witnesses,
            fittingPacket: row.fittingPacket)
        #expect(DecisionTable.cause(of: evidence) == row.cause)
    }

    private static let failures: [LookupFailure] = [
        .fails(gateway, code: "SERVFAIL"), .fails(gateway, code: "REFUSED"), .silent([gateway]),
        .denied("www.test", by: gateway, deniesOthers: true),
    ]

    private func forwarder(
        _ lookup: LookupFailure, _ gateway: SilenceEvidence.Gateway, _ witnesses: [Witness]
    ) -> Cause {
        var evidence = FailureEvidence(failure: .resolveFailed, before: .unknown, after: .unknown)
        (evidence.lookup, evidence.gateway, evidence.witnesses) = (lookup, gateway, witnesses)
        (evidence.isForwarded, evidence.isOfThisPath) = (true, true)
        return DecisionTable.cause(of: evidence)
    }

    @Test("A router that resolves names is charged only if a host beyond it answers", arguments: failures)
    func forwarder(_ lookup: LookupFailure) {
        let gateway = SilenceEvidence.Gateway.answers(Self.gateway)
        #expect(self.forwarder(lookup, gateway, []) == .unknown(.forwarder))
        for kind in [Witness.Kind.target, .hopWalk, .connection, .internetCheck] {
            let silent = self.forwarder(lookup, gateway, [Witness(kind, .nothing)])
            #expect(silent == .provider(.nothingBeyond(gateway: Self.gateway)), "\(kind)")
            let answering = [Witness(kind, .beyond(nil)), Witness(.target, .nothing)]
            #expect(self.forwarder(lookup, gateway, answering).party == .resolver, "\(kind)")
        }
        let edge = self.forwarder(
            lookup, gateway, [Witness(.hopWalk, .router(Self.router)), Witness(.target, .nothing)])
        #expect(edge.party == .upstream)
    }

    @Test("A resolver beside a dead router fails because of the router", arguments: failures)
    func besideDeadRouter(_ lookup: LookupFailure) {
        let lost = SilenceEvidence.Gateway.unresolved(Self.resolver, link: "eth0", wasReachable: true)
        let cause = self.forwarder(lookup, lost, [Witness(.target, .nothing)])
        #expect(cause == .router(.silent(Self.resolver, link: "eth0", lastConfirmed: nil)))
    }

    @Test("A name that a resolver denies while nothing beyond the gateway answers is not the request's failure")
    func deniedTask() {
        var evidence = FailureEvidence(failure: .resolveFailed, before: .unknown, after: .unknown)
        evidence.resolveFailure = .nameNotFound
        #expect(DecisionTable.party(of: evidence) == .mine)
        (evidence.gateway, evidence.witnesses) = (.answers(Self.gateway), [Witness(.target, .nothing)])
        #expect(DecisionTable.party(of: evidence) == .upstream)
        evidence.witnesses.append(Witness(.target, .beyond(nil)))
        #expect(DecisionTable.party(of: evidence) == .mine)
    }

    @Test("A resolver that answers a later diagnosis is acquitted, and no other silence is")
    func revision() {
        let answering = SilenceEvidence(
            silent: .target, gateway: .answers(Self.gateway),
            witnesses: [Witness(.resolver, .beyond(Self.resolver))])
        #expect(DecisionTable.revision(of: .resolver, .resolvers([]), by: answering) == .to(.unknown))
        #expect(DecisionTable.revision(of: .unknown, .resolvers([]), by: answering) == .undecided)
        #expect(
            DecisionTable.revision(
                of: .resolver, .resolvers([]),
                by: SilenceEvidence(silent: .target, gateway: .answers(Self.gateway), witnesses: [])) == .undecided)
    }

    @Test("Every kind of witness beyond the gateway acquits it", arguments: Witness.Kind.allCases)
    func anyWitness(_ kind: Witness.Kind) {
        let dead = SilenceEvidence.Gateway.unresolved(Self.gateway, link: "eth0", wasReachable: true)
        let evidence = SilenceEvidence(
            silent: .resolvers([Self.resolver]), gateway: dead, witnesses: [Witness(kind, .beyond(nil))])
        // A resolver that answers is not the silent one.
        #expect(DecisionTable.cause(of: evidence).party == (kind == .resolver ? .unknown : .resolver))
    }
}
