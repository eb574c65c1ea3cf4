internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// Lookups in, verdicts out.
struct VerdictReducerTests {
    private let internet = IPAddress(ipv4: 0x0808_0808)
    private let source = IPAddress(ipv4: 0x0A00_0002)
    private let gateway = IPAddress(ipv4: 0x0A00_0001)

    private var usual: VerdictReducer { VerdictReducer(.of([.make()], [.make("10.0.0.2/24")])) }

    private func route(_ change: (inout KernelRoute) -> Void = { _ in }) -> KernelRoute {
        var route = KernelRoute(link: 77, gateway: self.gateway, source: self.source)
        change(&route)
        return route
    }

    private func reports(_ route: KernelRoute, by reducer: VerdictReducer? = nil) -> LookupResult {
        (reducer ?? self.usual).evaluate(.routed(route), of: self.internet)
    }

    @Test("A route over a usable link from a usable address is a path")
    func routed() {
        let path = NetworkPath(interface: "eth0", index: 77, gateway: self.gateway, source: self.source, table: 254)
        #expect(self.reports(self.route()) == .routed(path, notes: [], expiresIn: nil))
    }

    @Test(
        "Every error number has its reason",
        arguments: [
            (101, false, UnreachableReason.noRoute), (113, false, .routeUnreachable), (13, false, .prohibited),
            (22, false, .blackholed), (19, false, .noSuchInterface), (97, false, .noRoute),
        ] as [(Int32, Bool, UnreachableReason)])
    func errors(code: Int32, hasText: Bool, reason: UnreachableReason) {
        let result = self.usual.evaluate(.refused(code, hasText: hasText), of: self.internet)
        #expect(result == .failed(reason, deadLink: nil))
    }

    @Test("A request that the kernel calls invalid says nothing about the network")
    func wrongRequest() {
        #expect(self.usual.evaluate(.refused(22, hasText: true), of: self.internet) == .silent)
        #expect(self.usual.evaluate(RouteLookup(matched: .none, chosen: .none), of: self.internet) == .silent)
        #expect(self.usual.family(.ipv4, [.silent]) == .unknown)
    }

    @Test(
        "Without lookups in a sandbox the verdict is unknown; a kernel without IPv6 merely lacks it",
        arguments: [1, 38, 95] as [Int32])
    func unsupported(code: Int32) throws {
        #expect(self.usual.evaluate(.refused(code, hasText: true), of: self.internet) == .silent)
        let ipv6 = self.usual.evaluate(.refused(code), of: try address("2001:4860:4860::8888"))
        #expect(self.usual.family(.ipv6, [ipv6]) == Verdict(level: .none, reason: .noAddress))
    }

    @Test("A dead nexthop, a dead link and a missing one are no path", arguments: [0x01, 0x10] as [UInt32])
    func dead(flag: UInt32) {
        #expect(self.reports(self.route { $0.flags = flag }) == .failed(.noCarrier, deadLink: 77))
        let unplugged = VerdictReducer(
            .of([.make(flags: KernelLink.flagUp, state: .down)], [.make("10.0.0.2/24")]))
        #expect(self.reports(self.route(), by: unplugged) == .failed(.noCarrier, deadLink: 77))
        #expect(self.reports(self.route { $0.link = 99 }) == .failed(.noSuchInterface, deadLink: 99))
    }

    @Test(
        "Where no link with a medium is usable, that is the reason, and not what a tunnel or a bridge lacks",
        arguments: [
            (.tunnel, nil), (.bridge, nil), (.virtual, nil), (.ethernet, nil), (.ethernet, 79),
        ] as [(Link.Kind, UInt32?)])
    func medium(_ kind: Link.Kind, bridge: UInt32?) {
        var other = KernelLink.make("other0", index: 78, kind: kind, master: bridge)
        other.infoKind = bridge == nil ? nil : "veth"
        let reducer = VerdictReducer(
            .of([.make(flags: KernelLink.flagUp, state: .down), other], [.make("fe80::2/64", on: 78)]))
        let missing = reducer.evaluate(.refused(101), of: self.internet)
        let isOther = kind == .ethernet && bridge == nil
        // A bridge without ports has no carrier either.
        #expect(reducer.family(.ipv4, [missing]).reason == (isOther ? .noAddress : .noCarrier))
        #expect(reducer.family(.ipv6, [missing]).reason == (isOther ? .linkLocalOnly : .noCarrier))
    }

    @Test("A source that is missing, foreign, link-local or tentative is no source")
    func sources() {
        #expect(self.reports(self.route { $0.source = nil }) == .failed(.noSourceAddress, deadLink: nil))
        let foreign = self.route { $0.source = IPAddress(ipv4: 0x0A00_0009) }
        #expect(self.reports(foreign) == .failed(.noSourceAddress, deadLink: nil))
        let linkLocal = VerdictReducer(.of([.make()], [.make("169.254.3.4/16")]))
        let result = self.reports(self.route { $0.source = IPAddress("169.254.3.4") }, by: linkLocal)
        #expect(result == .failed(.noSourceAddress, deadLink: nil))
        #expect(linkLocal.family(.ipv4, [result]) == Verdict(level: .local, reason: .linkLocalOnly))
    }

    @Test("One live leg of two is a path with a note, and the dead one is not taken")
    func multipath() {
        let legs = [
            KernelRoute.Nexthop(link: 77, gateway: self.gateway, flags: 0x10),
            KernelRoute.Nexthop(link: 78, gateway: IPAddress(ipv4: 0x0A00_0101)),
        ]
        let reducer = VerdictReducer(.of([.make(), .make("eth1", index: 78)], [.make("10.0.0.2/24")]))
        let lookup = RouteLookup(
            matched: .route(KernelRoute(nexthops: legs)), chosen: .route(self.route()))
        guard case .routed(let path, let notes, _) = reducer.evaluate(lookup, of: self.internet) else {
            Issue.record("not routed")
            return
        }
        #expect(path.interface == "eth1" && path.gateway == IPAddress("10.0.1.1"))
        #expect(notes == [.degradedMultipath(live: 1, total: 2)])
    }

    @Test("An address of this host is routed over loopback, whatever its link does")
    func thisHost() {
        let reducer = VerdictReducer(.of([.make(flags: 0, state: .down)], [.make("10.0.0.2/24")]))
        let result = reducer.evaluate(
            .routed(KernelRoute(kind: .local, table: 255, link: 1, source: self.source)), of: self.source)
        let verdict = reducer.address(self.source, result)
        #expect(verdict.level == .routed && verdict.path?.interface == "lo" && verdict.notes == [.thisHost])
    }

    @Test("A broadcast address is no host", arguments: [KernelRoute.Kind.broadcast, .multicast, .anycast])
    func notAHost(kind: KernelRoute.Kind) {
        #expect(self.reports(self.route { $0.kind = kind }) == .failed(.notAHost, deadLink: nil))
    }

    @Test("Sentinels that partly fail or take different paths leave notes")
    func sentinels() {
        let reducer = VerdictReducer(
            .of([.make(), .make("eth1", index: 78)], [.make("10.0.0.2/24"), .make("10.0.1.2/24", on: 78)]))
        let first = self.reports(self.route(), by: reducer)
        let second = self.reports(self.route { $0.link = 78 }, by: reducer)
        let failed = LookupResult.failed(.noRoute, deadLink: nil)
        #expect(reducer.family(.ipv4, [first, first]).notes == [])
        #expect(reducer.family(.ipv4, [first, second]).notes == [.mixedPaths])
        #expect(reducer.family(.ipv4, [failed, first]).notes == [.partial])
        #expect(reducer.family(.ipv4, [failed, first]).level == .routed)
        #expect(reducer.family(.ipv4, [failed, failed]) == Verdict(level: .local, reason: .noRoute))
        let prohibited = LookupResult.failed(.prohibited, deadLink: nil)
        #expect(reducer.family(.ipv4, [failed, prohibited]).reason == .prohibited)
        #expect(reducer.family(.ipv6, [failed]) == Verdict(level: .none, reason: .noAddress))
    }

    @Test("A lost answer hides no path, and without a path the verdict is unknown")
    func lostAnswers() {
        let routed = self.reports(self.route()), failed = LookupResult.failed(.noRoute, deadLink: nil)
        #expect(self.usual.family(.ipv4, [.silent, routed]).level == .routed)
        #expect(self.usual.family(.ipv4, [.silent, routed]).notes == [.partial])
        #expect(self.usual.family(.ipv4, [.silent, failed]) == .unknown)
        #expect(self.usual.family(.ipv4, []) == .unknown)
    }

    @Test("A shortage in the kernel says nothing about the network", arguments: [12, 16, 105, 11] as [Int32])
    func kernelTrouble(code: Int32) {
        #expect(self.usual.evaluate(.refused(code), of: self.internet) == .silent)
    }

    @Test("The port of a VRF keeps its addresses, unlike a bridge's")
    func vrfPort() {
        let vrf = KernelLink.make("red", index: 5, kind: .virtual)
        let reducer = VerdictReducer(.of([vrf, .make(master: 5)], [.make("10.0.0.2/24")]))
        #expect(reducer.snapshot.addressReasons[.ipv4] == nil)
        #expect(reducer.evaluate(.routed(self.route { $0.table = 100 }), of: self.internet) != .silent)
    }

    @Test("The lowest rung that fails is the reason")
    func fundamental() {
        let failed = LookupResult.failed(.noRoute, deadLink: nil)
        let cases: [([KernelLink], [KernelAddress?], Verdict)] = [
            ([], [], Verdict(level: .none, reason: .noInterface)),
            ([.make(flags: 0, state: .down)], [.make("10.0.0.2/24")], Verdict(level: .none, reason: .adminDown)),
            ([.make()], [], Verdict(level: .none, reason: .noAddress)),
            ([.make()], [.make("169.254.1.1/16")], Verdict(level: .local, reason: .linkLocalOnly)),
            ([.make()], [.make("10.0.0.2/24", flags: 0x48)], Verdict(level: .none, reason: .dadFailed)),
            ([.make()], [.make("10.0.0.2/24")], Verdict(level: .local, reason: .noRoute)),
        ]
        for (links, addresses, expected) in cases {
            let reducer = VerdictReducer(.of(links, addresses))
            #expect(reducer.family(.ipv4, [failed]) == expected)
            #expect(reducer.address(self.internet, failed).reason == expected.reason)
        }
    }

    @Test("Deprecated, unique local and tunnelled paths carry their notes; cellular ones cost")
    func notes() throws {
        let deprecated = VerdictReducer(.of([.make()], [.make("10.0.0.2/24", flags: KernelAddress.flagDeprecated)]))
        let tunnel = VerdictReducer(.of([.make(kind: .tunnel)], [.make("10.0.0.2/24")]))
        let cellular = VerdictReducer(.of([.make(kind: .cellular)], [.make("10.0.0.2/24")]))
        let configured = VerdictReducer(.of([.make()], [.make("10.0.0.2/24")]), meteredLinks: [77])
        #expect(deprecated.family(.ipv4, [self.reports(self.route(), by: deprecated)]).notes == [.deprecatedOnly])
        #expect(tunnel.family(.ipv4, [self.reports(self.route(), by: tunnel)]).notes == [.tunnel])
        #expect(cellular.family(.ipv4, [self.reports(self.route(), by: cellular)]).path?.metered == .guessYes)
        #expect(configured.family(.ipv4, [self.reports(self.route(), by: configured)]).path?.metered == .yes)
        #expect(self.usual.family(.ipv4, [self.reports(self.route())]).path?.metered == .guessNo)
    }

    @Test("A target is as good as its best address")
    func best() {
        let good = Verdict(level: .routed), bad = Verdict(level: .none, reason: .noRoute)
        let verdicts = [bad, good].map { AddressVerdict(address: self.internet, verdict: $0) }
        #expect(VerdictReducer.best(verdicts) == good)
        #expect(VerdictReducer.best([]) == nil)
    }
}
