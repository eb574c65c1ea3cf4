import Testing
import TidegateAttribution
import TidegateCore
import TidegateTestKit

@testable import TidegateReachability

/// When single samples lead to a measurement, and measurements to something that is slow, in simulated time.
@Suite struct QualityMachineTests {
    private static let router = IPAddress(ipv4: 0x0A00_0001)
    private static let provider = IPAddress(ipv4: 0x6440_0002)
    private static let server = IPAddress(ipv4: 0xCB00_7102)
    private static let other = IPAddress(ipv4: 0xC633_6402)
    private static let path = NetworkPath(interface: "lan", index: 2, gateway: router)
    private static let api = Target(address: other, port: 443)

    /// The machine with its clocks, and the events so far.
    private struct World {
        var machine = QualityMachine()
        var seconds = 0
        var events: [QualityEvent] = []

        var now: QualityMachine.Moment {
            .init(
                monotonic: MonotonicTime(nanoseconds: UInt64(self.seconds + 1000) * 1_000_000_000),
                wall: WallTime(microseconds: Int64(self.seconds) * 1_000_000))
        }

        init(_ normals: QualityNormals = QualityNormals()) {
            self.machine = QualityMachine(normals: normals)
            self.give(.path(QualityMachineTests.path))
            let (router, provider) = (QualityMachineTests.router, QualityMachineTests.provider)
            self.give(.hosts([.init(.router, router), .init(.provider, provider)], router: nil))
        }

        mutating func give(_ input: QualityMachine.Input) {
            self.events += self.machine.handle(input, at: self.now)
        }

        /// A round of echoes ten seconds later: round trips in milliseconds, nil for a lost one.
        mutating func echo(_ trips: Double?..., times: Int = 1) {
            for _ in 0..<times {
                self.seconds += 10
                self.give(.echoes(trips.map { $0.map { .microseconds(Int64($0 * 1000)) } }))
            }
        }

        /// Healthy echoes, and the measurement that follows them.
        mutating func settle() {
            self.echo(1, 10, times: 20)
            self.give(.measured(.network, QualityMachineTests.evidence()))
        }

        /// A healthy time, a lost echo, and the measurement of a loss behind the router.
        mutating func degrade() {
            self.settle()
            self.echo(1, nil)
            self.give(.measured(.network, QualityMachineTests.evidence(lostBehind: 9)))
        }

        var due: QualityMachine.Subject? { self.machine.due(at: self.now.monotonic) }
    }

    /// 46 echoes to each host; `lost` of them are single gaps.
    private static func evidence(
        router: Double = 1, provider: Double = 10, other: Double = 30, lostBehind lost: Int = 0
    ) -> QualityEvidence {
        func host(_ segment: Segment, _ address: IPAddress, _ trip: Double, lost: Int) -> QualityEvidence.Host {
            var host = QualityEvidence.Host(segment, address)
            (host.sent, host.gaps) = (46, lost)
            host.roundTrips = Array(repeating: .microseconds(Int64(trip * 1000)), count: 46 - lost)
            return host
        }
        var evidence = QualityEvidence(interface: "lan")
        evidence.hosts = [
            host(.router, self.router, router, lost: 0), host(.provider, self.provider, provider, lost: lost),
            host(.server, self.server, other, lost: lost),
        ]
        evidence.reference = host(.reference, self.other, other, lost: lost)
        return evidence
    }

    @Test("A lost echo asks for one measurement, and the next one follows after five minutes at the earliest")
    func loss() {
        var world = World()
        world.settle()
        #expect(world.due == nil)
        world.echo(1, nil)
        #expect(world.due == .network)
        world.give(.measured(.network, Self.evidence()))
        world.echo(1, nil, times: 29)
        #expect(world.due == nil && world.events.isEmpty)
        world.echo(1, 10)
        #expect(world.due == .network)
    }

    @Test("Late echoes ask for a measurement if three of five are late, once it is known what is usual")
    func delay() {
        var world = World()
        world.echo(1, 100, times: 11)
        #expect(world.machine.status.hosts.map(\.normal) == [nil, nil])
        world.echo(1, 10)
        #expect(world.machine.status.hosts[1].normal == .milliseconds(100))
        // What is usual for hosts that get no echoes is measured once on each path.
        #expect(world.due == .network)
        world.give(.measured(.network, Self.evidence(provider: 100, other: 120)))
        world.echo(1, 149, times: 5)
        #expect(world.due == nil)
        world.echo(1, 160, times: 2)
        world.echo(1, 100)
        #expect(world.due == nil)
        world.echo(1, 160)
        #expect(world.due == .network)
    }

    @Test("Segments that programs send again ask for a measurement")
    func segments() {
        var world = World()
        world.give(.segments(sent: 151, repeated: 3))
        world.give(.segments(sent: 10, repeated: 2))
        #expect(world.due == nil)
        world.give(.segments(sent: 150, repeated: 3))
        #expect(world.due == .network)
    }

    @Test(
        "A queue that drops packets, or damaged frames, ask for a measurement",
        arguments: [\HostEvidence.drops, \.errors])
    func ownSide(counter: any WritableKeyPath<HostEvidence, UInt64?> & Sendable) {
        var world = World()
        var own = HostEvidence()
        let steps: [(count: UInt64, packets: UInt64, isDue: Bool)] = [
            (50, 1000, false), (51, 2000, false), (61, 1_002_000, false), (71, 1_003_000, true),
        ]
        for (count, packets, isDue) in steps {
            (own[keyPath: counter], own.packets) = (count, packets)
            world.give(.own(own))
            #expect((world.due == .network) == isDue, "\(count)")
        }
    }

    @Test("A connection that took a second longer lost a packet, and asks for a measurement")
    func repeatedConnect() {
        var world = World()
        world.give(.checked(Self.api, PhaseDurations(connect: .milliseconds(899), processing: .milliseconds(30))))
        #expect(world.due == nil)
        world.give(.checked(Self.api, PhaseDurations(connect: .milliseconds(1031), processing: .milliseconds(30))))
        #expect(world.due == .network)
        world = World()
        world.give(.lateConnects)
        #expect(world.due == .network)
    }

    @Test("A small loss is measured with more echoes, which show where it begins, or that it was none")
    func smallLoss() {
        var world = World()
        world.settle()
        for (gaps, later, parties) in [(1, [0], []), (3, [3, 3], [FaultParty.upstream])] {
            world.echo(1, nil, times: 30)
            let before = world.events.count
            var first = Self.evidence(lostBehind: gaps)
            // Two hosts behind the router lost an echo each.
            if gaps == 1 { first.hosts[1].gaps = 0 }
            world.give(.measured(.network, first))
            for lost in later {
                #expect(world.events.count == before && world.due == .network)
                world.give(.measured(.network, Self.evidence(lostBehind: lost)))
            }
            #expect(world.events.map(\.trouble.party) == parties && world.due == nil)
        }
    }

    @Test("Own traffic in one half of a measurement counts for the whole: it may have lost the packets")
    func ownTraffic() {
        var world = World()
        world.settle()
        world.echo(1, nil, times: 30)
        var first = Self.evidence(lostBehind: 3)
        first.ownTraffic = 4_000_000
        world.give(.measured(.network, first))
        for _ in 0..<2 { world.give(.measured(.network, Self.evidence(lostBehind: 3))) }
        #expect(world.events.map(\.trouble.cause) == [.lossBehind(9.0 / 138, router: Self.router, isEverywhere: false)])
    }

    @Test("A second half that is worthless leaves the first one, and one that comes late begins anew")
    func worthlessHalf() {
        for isLate in [false, true] {
            var world = World()
            world.settle()
            world.echo(1, nil, times: 30)
            world.give(.measured(.network, Self.evidence(lostBehind: 3)))
            if isLate { world.echo(1, 10, times: 4) }
            world.give(.measured(.network, isLate ? Self.evidence() : nil))
            #expect(world.events.map(\.trouble.party) == (isLate ? [] : [.unknown]))
        }
    }

    @Test("Another address of this host, or another name of its interface, is no other path")
    func sameRouter() {
        var world = World()
        world.degrade()
        let own = IPAddress(ipv4: 0x0A00_0009)
        world.give(.path(NetworkPath(interface: "renamed", index: 2, gateway: Self.router, source: own)))
        #expect(world.events.map(\.kind) == [.degraded])
        #expect(world.machine.status.interface == "renamed" && world.machine.status.hosts.count == 2)
    }

    @Test("A network that stays slow does not keep a target from being measured")
    func turns() {
        var world = World()
        world.settle()
        for _ in 0..<12 { world.give(.checked(Self.api, PhaseDurations(processing: .milliseconds(50)))) }
        world.echo(1, nil)
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        for _ in 0..<3 { world.give(.checked(Self.api, PhaseDurations(processing: .milliseconds(2000)))) }
        world.echo(1, nil, times: 30)
        #expect(world.due == .target(Self.api))
        world.give(.measured(.target(Self.api), Self.evidence()))
        world.echo(1, nil, times: 30)
        #expect(world.due == .network)
    }

    @Test("A path that changes between two halves of a measurement makes the first one void")
    func changedBetween() {
        var world = World()
        world.settle()
        world.echo(1, nil, times: 30)
        world.give(.measured(.network, Self.evidence(lostBehind: 3)))
        world.give(.path(NetworkPath(interface: "radio", index: 3, gateway: Self.router)))
        #expect(world.due == nil)
    }

    @Test("A network is slow from the first bad sample until a clean measurement and three minutes, or two of them")
    func network() throws {
        var world = World()
        world.settle()
        world.echo(1, nil)
        let since = world.now.wall
        world.seconds += 9
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        let event = try #require(world.events.first)
        #expect(event.kind == .degraded && event.target == nil && event.trouble.since == since)
        #expect(event.trouble.party == .upstream && event.trouble.cause.segment == .provider)
        #expect(world.machine.status.network == event.trouble)
        // Nothing is learned meanwhile, and a clean measurement alone does not end it.
        world.echo(1, 40, times: 31)
        #expect(world.machine.status.hosts[1].normal == .milliseconds(10))
        world.echo(1, nil)
        #expect(world.due == .network)
        world.give(.measured(.network, Self.evidence()))
        world.echo(1, 10, times: 17)
        #expect(world.events.count == 1)
        world.echo(1, nil)
        world.echo(1, 10, times: 20)
        #expect(world.events.count == 1, "there was a bad sample after the clean measurement")
        #expect(world.due == .network)
        world.give(.measured(.network, Self.evidence()))
        #expect(world.events.map(\.kind) == [.degraded, .ended(.recovered)] && world.machine.status.network == nil)
        #expect(world.due == nil)
    }

    @Test("A round trip over the usual one begins at the first host from which on all are late")
    func rise() {
        var world = World()
        world.settle()
        world.echo(1, 110, times: 3)
        #expect(world.due == .network)
        world.give(.measured(.network, Self.evidence(provider: 110, other: 130)))
        #expect(world.events.isEmpty, "the next echo has to confirm it")
        world.echo(1, 110)
        #expect(world.events.map(\.trouble.cause.segment) == [.provider])
        #expect(
            Cause.slow(world.events[0].trouble.cause).description
                == "the line behind your router takes 110 ms instead of 10 ms to 100.64.0.2")
    }

    @Test("A machine that is given what was usual suspects a rise with its third sample, and on that network only")
    func kept() throws {
        var world = World()
        world.settle()
        let json = world.machine.normals.json
        let normals = try #require(QualityNormals(json, at: world.now.wall))
        var (next, new) = (World(normals), World())
        #expect(next.machine.status.hosts.map(\.normal) == [.milliseconds(1), .milliseconds(10)])
        next.echo(1, 110, times: 3)
        new.echo(1, 110, times: 3)
        #expect(next.due == .network && new.due == nil)
        next.give(.measured(.network, Self.evidence(provider: 110, other: 130)))
        next.echo(1, 110)
        #expect(next.events.map(\.trouble.cause.segment) == [.provider])
        var elsewhere = World(normals)
        elsewhere.give(.path(NetworkPath(interface: "lan", index: 2, gateway: Self.other)))
        elsewhere.give(.hosts([.init(.router, Self.router), .init(.provider, Self.provider)], router: nil))
        elsewhere.echo(1, 110)
        #expect(elsewhere.machine.status.hosts.map(\.normal) == [nil, nil])
    }

    @Test("With a known router, this host's own address does not matter")
    func knownRouter() throws {
        func world(from source: UInt32, router: String, _ normals: QualityNormals) -> World {
            var world = World(normals)
            world.give(
                .path(
                    NetworkPath(interface: "lan", index: 2, gateway: Self.router, source: IPAddress(ipv4: source))))
            world.give(.hosts([.init(.router, Self.router)], router: router))
            return world
        }
        var first = world(from: 0x0A00_0009, router: "52:54:00:00:00:01", QualityNormals())
        first.echo(7, times: 20)
        let normals = first.machine.normals
        let usual = [("52:54:00:00:00:01", Duration.milliseconds(7)), ("52:54:00:00:00:02", nil)]
        for (router, normal) in usual {
            let next = world(from: 0x0A00_000A, router: router, normals)
            #expect(next.machine.status.hosts.map(\.normal) == [normal])
        }
    }

    @Test("What was slow and cannot be measured any more is over after three minutes of good samples")
    func unmeasurable() {
        var world = World()
        world.degrade()
        for _ in 0..<2 { world.give(.measured(.network, nil)) }
        world.echo(1, 10, times: 17)
        #expect(world.events.map(\.kind) == [.degraded])
        world.echo(1, 10)
        #expect(world.events.map(\.kind) == [.degraded, .ended(.unmeasured)])
    }

    @Test("A short transfer fills the line for a measurement, and is no trouble")
    func shortTransfer() {
        var world = World()
        world.settle()
        world.echo(1, 110, times: 3)
        world.give(.measured(.network, Self.evidence(provider: 110, other: 130)))
        world.echo(1, 10)
        world.echo(1, 110, times: 3)
        #expect(world.events.isEmpty)
    }

    @Test("A router that only answers late is no fault, and what it takes is usual from then on")
    func lateRouter() {
        var world = World()
        world.settle()
        world.echo(1, 110, times: 3)
        world.give(.measured(.network, Self.evidence(provider: 110)))
        #expect(world.events.isEmpty && world.machine.status.hosts[1].normal == .milliseconds(110))
        world.echo(1, 110, times: 31)
        #expect(world.due == nil)
    }

    @Test("A target that takes its usual time is not slow, even if that is long")
    func usualTime() {
        var world = World()
        let usual = PhaseDurations(connect: .milliseconds(20), processing: .milliseconds(1980))
        for _ in 0..<12 { world.give(.checked(Self.api, usual)) }
        for _ in 0..<3 {
            world.give(.checked(Self.api, PhaseDurations(connect: .milliseconds(20), processing: .milliseconds(3100))))
        }
        #expect(world.due == .target(Self.api))
        var evidence = Self.evidence()
        (evidence.phases.connect, evidence.phases.processing) = (.milliseconds(30), .milliseconds(1970))
        world.give(.measured(.target(Self.api), evidence))
        #expect(world.events.isEmpty)
        evidence.phases.processing = .milliseconds(3100)
        world.give(.measured(.target(Self.api), evidence))
        #expect(world.events.map(\.target) == [Self.api])
    }

    @Test("A slow target is its own trouble, unless the network is at fault; a failed one is not slow any more")
    func target() {
        var world = World()
        let slow = QualityMachine.Subject.target(Self.api)
        let usual = PhaseDurations(connect: .milliseconds(20), processing: .milliseconds(30))
        let late = PhaseDurations(connect: .milliseconds(20), processing: .milliseconds(1980))
        for _ in 0..<12 { world.give(.checked(Self.api, usual)) }
        for _ in 0..<2 { world.give(.checked(Self.api, late)) }
        #expect(world.due == nil)
        world.give(.checked(Self.api, late))
        #expect(world.due == slow)
        var evidence = Self.evidence()
        (evidence.phases.connect, evidence.phases.processing) = (.milliseconds(30), .milliseconds(1970))
        world.give(.measured(slow, evidence))
        #expect(world.machine.status.targets[Self.api]?.party == .theirs)
        #expect(world.events.map(\.target) == [Self.api])
        world.give(.measured(slow, Self.evidence(lostBehind: 9)))
        #expect(world.machine.status.targets[Self.api]?.party == .upstream)
        #expect(world.machine.status.network?.party == .upstream)
        #expect(world.events.map(\.target) == [Self.api, nil, Self.api])
        world.give(.checked(Self.api, nil))
        #expect(world.events.last?.kind == .ended(.failed) && world.events.last?.target == Self.api)
    }

    @Test("An outage ends what is slow, and another path forgets it")
    func path() {
        var world = World()
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        world.give(.path(nil))
        #expect(world.events.map(\.kind) == [.degraded, .ended(.failed)] && world.due == nil)
        world = World()
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        world.give(.path(NetworkPath(interface: "wlan0", index: 3, gateway: Self.other)))
        #expect(world.events.map(\.kind) == [.degraded, .ended(.moved)] && world.machine.status.hosts.isEmpty)
    }

    @Test(
        "A worthless measurement of a new path is repeated once after a minute, and then each five minutes",
        arguments: [true, false])
    func worthless(isBusy: Bool) {
        var world = World()
        world.echo(1, 10, times: 20)
        #expect(world.due == .network)
        var evidence = Self.evidence()
        evidence.lateness = .milliseconds(21)
        world.give(.measured(.network, isBusy ? evidence : nil))
        world.echo(1, 10, times: 5)
        #expect(world.due == nil)
        world.echo(1, 10)
        #expect(world.due == .network)
        world.give(.measured(.network, isBusy ? evidence : nil))
        world.echo(1, 10, times: 29)
        #expect(world.due == nil, "repeated once")
        world.echo(1, 10)
        #expect(world.due == .network)
    }

    @Test("What is later than usual for a day is usual from then on")
    func newUsual() {
        var world = World()
        world.settle()
        world.echo(1, 80, times: 3)
        let late = Self.evidence(provider: 80, other: 100)
        world.give(.measured(.network, late))
        world.echo(1, 80)
        #expect(world.events.map(\.kind) == [.degraded])
        world.seconds += 86_400
        world.give(.measured(.network, late))
        #expect(world.events.map(\.kind) == [.degraded, .ended(.usual)])
        world.echo(1, 80, times: 12)
        world.give(.measured(.network, late))
        world.echo(1, 80)
        #expect(world.events.count == 2)
    }

    @Test(
        "A queue of this host's own is slow if the next echo to the router is late as well: a short upload fills it, too",
        arguments: [true, false])
    func ownQueue(isLong: Bool) {
        var world = World()
        world.settle()
        world.echo(80, 90, times: 3)
        var evidence = Self.evidence(router: 80, provider: 90, other: 110)
        evidence.own.backlogs = [9000, 9000, 9000, 9000, 9000]
        world.give(.measured(.network, evidence))
        #expect(world.events.isEmpty)
        world.echo(isLong ? 80 : 1, isLong ? 90 : 10)
        #expect(world.events.map(\.trouble.cause.segment) == (isLong ? [.thisHost] : []))
        #expect(world.events.allSatisfy { $0.trouble.party == .mine })
    }

    @Test("Measurements by a process that its CPU quota stops neither find nor end anything")
    func quota() {
        var world = World()
        func measure(lost: Int) {
            var evidence = Self.evidence(lostBehind: lost)
            (evidence.own.quotaPeriods, evidence.own.throttledPeriods) = (20, 9)
            world.give(.measured(.network, evidence))
        }
        measure(lost: 9)
        #expect(world.events.isEmpty)
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        for _ in 0..<3 { measure(lost: 0) }
        world.echo(1, 10, times: 60)
        #expect(world.events.map(\.kind) == [.degraded])
    }

    @Test("A measurement by a busy machine neither finds nor ends anything")
    func busy() {
        var world = World()
        var evidence = Self.evidence(lostBehind: 9)
        evidence.lateness = .milliseconds(21)
        world.give(.measured(.network, evidence))
        #expect(world.events.isEmpty)
        world.give(.measured(.network, Self.evidence(lostBehind: 9)))
        evidence = Self.evidence()
        evidence.lateness = .milliseconds(21)
        for _ in 0..<3 { world.give(.measured(.network, evidence)) }
        world.echo(1, 10, times: 60)
        #expect(world.events.map(\.kind) == [.degraded])
    }

    /// Ordinary noise: 0.3 % loss, jitter, a wait of up to 150 ms in each fiftieth echo, and an upload of 20 s each hour.
    @Test("A day of ordinary noise has no slow minute", arguments: 1...8 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func trip(_ usual: Double, _ second: Int, queue: Double) -> Double? {
            guard Double.random(in: 0..<1, using: &generator) >= 0.003 else { return nil }
            let waits = Int.random(in: 0..<50, using: &generator) == 0
            let wait = waits ? Double.random(in: 0..<150, using: &generator) : 0
            return usual + Double.random(in: 0..<4, using: &generator) + wait
                + (second % 3600 < 20 ? queue * Double.random(in: 0.5..<1, using: &generator) : 0)
        }
        func host(_ segment: Segment, _ address: IPAddress, _ usual: Double, _ second: Int) -> QualityEvidence.Host {
            // They take ten seconds.
            let echoes = (0..<46).map { trip(usual, second + $0 * 10 / 46, queue: segment == .router ? 0 : 200) }
            var host = QualityEvidence.Host(segment, address)
            (host.sent, host.gaps) = (46, zip([0] + echoes, echoes).count { $0 != nil && $1 == nil })
            host.roundTrips = echoes.compactMap(\.self).map { .microseconds(Int64($0 * 1000)) }
            return host
        }
        var (world, measurements) = (World(), 0)
        while world.seconds < 86_400 {
            let second = world.seconds + 10
            world.echo(trip(1, second, queue: 0), trip(10, second, queue: 200))
            guard let due = world.due else { continue }
            measurements += 1
            var evidence = QualityEvidence(interface: "lan")
            evidence.hosts = [
                host(.router, Self.router, 1, second), host(.provider, Self.provider, 10, second),
                host(.server, Self.server, 30, second),
            ]
            evidence.reference = host(.reference, Self.other, 30, second)
            world.seconds += 10
            world.give(.measured(due, evidence))
        }
        #expect(world.events.isEmpty, "\(world.events.map(\.trouble.cause))")
        #expect(measurements > 20, "the noise must be seen")
    }
}
