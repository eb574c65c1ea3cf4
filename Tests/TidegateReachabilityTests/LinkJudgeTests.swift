internal import Testing
internal import TidegateModel
internal import TidegateNetlink

@testable internal import TidegateReachability

/// Which links and addresses count.
struct LinkJudgeTests {
    @Test(
        "A link counts when it is up, has its carrier and its operstate says nothing against it",
        arguments: [
            (KernelLink.up, Link.OperState.up, nil),
            (KernelLink.up, .unknown, nil),
            (KernelLink.flagLowerUp, .up, Unreachable.adminDown),
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
    func reason(flags: UInt32, state: Link.OperState, expected: Unreachable?) {
        #expect(LinkJudge.reason(.make(flags: flags, state: state), hasLivePort: false) == expected)
    }

    @Test("A bridge or bond counts only with a live port", arguments: [Link.Kind.bridge, .bond])
    func masters(kind: Link.Kind) {
        let master = KernelLink.make("br0", index: 5, state: .unknown, kind: kind)
        #expect(Surroundings.of([master], []).links[5]?.reason == .noCarrier)
        let port = KernelLink.make(master: 5)
        #expect(Surroundings.of([master, port], []).links[5]?.reason == nil)
        let dead = KernelLink.make(flags: KernelLink.flagUp, state: .down, master: 5)
        #expect(Surroundings.of([master, dead], []).links[5]?.reason == .noCarrier)
    }

    @Test(
        "An address counts unless it is local to host or link, or not yet or never its own",
        arguments: [
            ("10.0.0.2/24", 0, nil),
            ("127.0.0.1/8", 0, Unreachable.noAddress),
            ("169.254.3.4/16", 0, .linkLocalOnly),
            ("fe80::1/64", 0, .linkLocalOnly),
            ("fe80::1/64", KernelAddress.flagTentative, .linkLocalOnly),
            ("2001:db8::2/64", KernelAddress.flagTentative, .tentative),
            ("2001:db8::2/64", KernelAddress.flagTentative | KernelAddress.flagOptimistic, nil),
            ("2001:db8::2/64", KernelAddress.flagTentative | KernelAddress.flagDadFailed, .dadFailed),
            ("2001:db8::2/64", KernelAddress.flagDeprecated, nil),
            ("fd00::2/64", 0, nil),
        ] as [(String, UInt32, Unreachable?)])
    func address(text: String, flags: UInt32, expected: Unreachable?) throws {
        #expect(AddressJudge.reason(try #require(.make(text, flags: flags))) == expected)
    }

    @Test("The link that people care about names the reason, then the one that got furthest")
    func culprit() {
        let down = KernelLink.make(flags: 0, state: .down)
        let docker = KernelLink.make("docker0", index: 3, flags: KernelLink.flagUp, state: .down)
        let unplugged = KernelLink.make("eth1", index: 4, flags: KernelLink.flagUp, state: .down)
        #expect(Surroundings.of([], []).linkReason == .noInterface)
        #expect(Surroundings.of([down, docker], []).linkReason == .adminDown)
        #expect(Surroundings.of([down, docker, unplugged], []).linkReason == .noCarrier)
        #expect(Surroundings.of([down, .make("eth1", index: 4)], []).linkReason == nil)
    }

    @Test("Addresses on the port of a bridge belong to nobody")
    func ports() {
        let bridge = KernelLink.make("br0", index: 5, kind: .bridge)
        let surroundings = Surroundings.of([bridge, .make(master: 5)], [.make("10.0.0.2/24")])
        #expect(surroundings.addressReasons[.ipv4] == .noAddress)
    }

    @Test("Patterns match whole names, and a broken one is named")
    func patterns() {
        var patterns = NamePatterns(["lo", "veth.*"])
        #expect(patterns.match("lo") && patterns.match("veth12"))
        #expect(!patterns.match("lowpan0") && !patterns.match("myveth0"))
        #expect(throws: ReachabilityConfigurationError.invalidPattern("eth[")) {
            try ReachabilityConfiguration(excludedInterfaces: ["lo", "eth["])
        }
    }

    @Test("There are at least four built-in sentinels of each family, IPv4 in both halves")
    func sentinels() throws {
        let sentinels = ReachabilityConfiguration().sentinels
        let ipv4 = try #require(sentinels[.ipv4])
        #expect(ipv4.count >= 4 && sentinels[.ipv6]?.count ?? 0 >= 4)
        #expect(Set(ipv4.map { $0.octets[0] < 128 }) == [true, false])
    }
}
