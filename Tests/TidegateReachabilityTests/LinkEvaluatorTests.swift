internal import Testing
internal import TidegateCore
internal import TidegateNetwork

@testable internal import TidegateReachability

/// Which links and addresses count.
struct LinkEvaluatorTests {
    @Test(
        "A link counts when it is up, has its carrier and its operstate says nothing against it",
        arguments: [
            (KernelLink.up, Link.OperState.up, nil),
            (KernelLink.up, .unknown, nil),
            (KernelLink.flagLowerUp, .up, UnreachableReason.adminDown),
            (0, .down, .adminDown),
            (KernelLink.flagUp, .up, .noCarrier),
            (KernelLink.flagUp, .unknown, .noCarrier),
            (KernelLink.flagUp, .down, .noCarrier),
            (KernelLink.up, .down, .noCarrier),
            (KernelLink.flagUp, .lowerLayerDown, .lowerLayerDown),
            (KernelLink.flagUp | KernelLink.flagLowerUp, .dormant, .dormant),
            (KernelLink.flagUp, .dormant, .noCarrier),
            (KernelLink.up, .testing, .dormant),
            (KernelLink.up, .notPresent, .noInterface),
        ])
    func reason(flags: UInt32, state: Link.OperState, expected: UnreachableReason?) {
        #expect(LinkEvaluator.reason(.make(flags: flags, state: state), hasLivePort: false) == expected)
    }

    @Test("A bridge or bond counts only with a live port", arguments: [Link.Kind.bridge, .bond])
    func masters(kind: Link.Kind) {
        let master = KernelLink.make("br0", index: 5, state: .unknown, kind: kind)
        #expect(NetworkSnapshot.of([master], []).links[5]?.reason == .noCarrier)
        let port = KernelLink.make(master: 5)
        #expect(NetworkSnapshot.of([master, port], []).links[5]?.reason == nil)
        let dead = KernelLink.make(flags: KernelLink.flagUp, state: .down, master: 5)
        #expect(NetworkSnapshot.of([master, dead], []).links[5]?.reason == .noCarrier)
    }

    @Test(
        "An address counts unless it is local to host or link, or not yet or never its own",
        arguments: [
            ("10.0.0.2/24", 0, nil),
            ("127.0.0.1/8", 0, UnreachableReason.noAddress),
            ("169.254.3.4/16", 0, .linkLocalOnly),
            ("fe80::1/64", 0, .linkLocalOnly),
            ("fe80::1/64", KernelAddress.flagTentative, .linkLocalOnly),
            ("2001:db8::2/64", KernelAddress.flagTentative, .tentative),
            ("2001:db8::2/64", KernelAddress.flagTentative | KernelAddress.flagOptimistic, nil),
            ("2001:db8::2/64", KernelAddress.flagTentative | KernelAddress.flagDadFailed, .dadFailed),
            ("2001:db8::2/64", KernelAddress.flagDeprecated, nil),
            ("fd00::2/64", 0, nil),
        ] as [(String, UInt32, UnreachableReason?)])
    func address(text: String, flags: UInt32, expected: UnreachableReason?) throws {
        #expect(AddressEvaluator.reason(try #require(.make(text, flags: flags))) == expected)
    }

    @Test("Links that are not excluded give the reason first, then the one closest to carrying traffic")
    func culprit() {
        let down = KernelLink.make(flags: 0, state: .down)
        let docker = KernelLink.make("docker0", index: 3, flags: KernelLink.flagUp, state: .down)
        let unplugged = KernelLink.make("eth1", index: 4, flags: KernelLink.flagUp, state: .down)
        #expect(NetworkSnapshot.of([], []).linkReason == .noInterface)
        #expect(NetworkSnapshot.of([down, docker], []).linkReason == .adminDown)
        #expect(NetworkSnapshot.of([down, docker, unplugged], []).linkReason == .noCarrier)
        #expect(NetworkSnapshot.of([down, .make("eth1", index: 4)], []).linkReason == nil)
    }

    @Test("Addresses on the port of a bridge do not count")
    func ports() {
        let bridge = KernelLink.make("br0", index: 5, kind: .bridge)
        let snapshot = NetworkSnapshot.of([bridge, .make(master: 5)], [.make("10.0.0.2/24")])
        #expect(snapshot.addressReasons[.ipv4] == .noAddress)
    }

    @Test("Patterns match whole names, and a broken one is named")
    func patterns() {
        var patterns = NamePatterns(["lo", "veth.*"])
        #expect(patterns.match("lo") && patterns.match("veth12"))
        #expect(!patterns.match("lowpan0") && !patterns.match("myveth0"))
        var configuration = ReachabilityConfiguration()
        configuration.excludedInterfaces = ["lo", "eth["]
        let error = #expect(throws: ConfigurationValueError.self) { try configuration.validate() }
        #expect(error?.property == "reachability.excludedInterfaces")
        #expect(error?.problem == "\"eth[\" is not a regular expression")
    }

    @Test("A link goes by every name that it has")
    func names() {
        var link = KernelLink.make("enp1s0")
        link.alternativeNames = ["veth-uplink", "wan"]
        let evaluated = NetworkSnapshot.of([link], []).links[77]
        #expect(evaluated?.isExcluded == true, "a pattern for one of its names")
        #expect(
            evaluated?.isNamed("wan") == true && evaluated?.isNamed("enp1s0") == true
                && evaluated?.isNamed("lo") == false)
        #expect(evaluated?.alternativeNames == ["veth-uplink", "wan"])
    }

    // MARK: Metered

    /// A way out beside whatever else there is.
    private func metered(
        _ link: KernelLink, among others: [KernelLink] = [], configured: Set<UInt32> = []
    ) throws -> Metered {
        let addresses = others.map { KernelAddress.make("10.0.\($0.index).2/24", on: $0.index) }
        let snapshot = NetworkSnapshot.of([link] + others, addresses)
        return snapshot.metered(try #require(snapshot.links[link.index]), configured: configured)
    }

    private func link(
        _ kind: Link.Kind, _ index: UInt32 = 77, on lower: UInt32? = nil,
        _ change: (inout KernelLink) -> Void = { _ in }
    ) -> KernelLink {
        var link = KernelLink.make("x\(index)", index: index, kind: kind)
        link.lower = lower
        change(&link)
        return link
    }

    @Test(
        "What is configured comes before any guess; of the kinds, cellular costs",
        arguments: [
            (Link.Kind.cellular, Metered.guessYes), (.ethernet, .guessNo), (.wifi, .guessNo), (.bridge, .guessNo),
            (.tunnel, .guessNo), (.virtual, .guessNo), (.other, .guessNo),
        ])
    func kinds(kind: Link.Kind, guess: Metered) throws {
        #expect(try self.metered(self.link(kind)) == guess)
        #expect(try self.metered(self.link(kind), configured: [77]) == .yes)
    }

    @Test("A network over a phone by Bluetooth costs")
    func tether() throws {
        #expect(try self.metered(self.link(.ethernet) { $0.isTether = true }) == .guessYes)
    }

    @Test("A tunnel costs what it runs over; where that is unknown, the worst that it can run over")
    func tunnels() throws {
        let (wired, radio) = (self.link(.ethernet, 2), self.link(.cellular, 3))
        #expect(try self.metered(self.link(.tunnel, on: 2), among: [wired, radio]) == .guessNo)
        #expect(try self.metered(self.link(.tunnel, on: 3), among: [wired, radio]) == .guessYes)
        #expect(try self.metered(self.link(.tunnel), among: [wired, radio]) == .guessYes)
        #expect(try self.metered(self.link(.tunnel), among: [wired]) == .guessNo)
        #expect(try self.metered(self.link(.tunnel), among: [wired], configured: [2]) == .guessYes)
        #expect(try self.metered(self.link(.tunnel, on: 2), among: [wired], configured: [2]) == .guessYes)
        let dead = self.link(.cellular, 3) { $0.flags = 0 }
        #expect(try self.metered(self.link(.tunnel), among: [wired, dead]) == .guessNo)
        let inner = self.link(.tunnel, 4, on: 3)
        #expect(try self.metered(self.link(.tunnel, on: 4), among: [inner, wired, radio]) == .guessYes)
        #expect(try self.metered(self.link(.tunnel, on: 4), among: [self.link(.tunnel, 4, on: 77)]) == .guessNo)
    }

    @Test("What is cut out of a link costs what the link costs")
    func virtual() throws {
        let radio = self.link(.cellular, 3)
        #expect(try self.metered(self.link(.virtual, on: 3), among: [radio]) == .guessYes)
        #expect(try self.metered(self.link(.virtual), among: [radio]) == .guessNo)
    }

    @Test("There are at least four built-in sentinels of each family, IPv4 in both halves")
    func sentinels() throws {
        let sentinels = ReachabilityConfiguration().sentinels
        let ipv4 = try #require(sentinels[.ipv4])
        #expect(ipv4.count >= 4 && sentinels[.ipv6]?.count ?? 0 >= 4)
        #expect(Set(ipv4.map { $0.octets[0] < 128 }) == [true, false])
    }
}
