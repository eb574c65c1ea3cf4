import Testing
import TidegateCore

@testable import TidegateAttribution

/// Each row of the table on measured round trips, beside situations in which nothing may be said.
@Suite struct QualityTableTests {
    private static let router = IPAddress(ipv4: 0x0A00_0001)
    private static let provider = IPAddress(ipv4: 0x6440_0002)
    private static let server = IPAddress(ipv4: 0xCB00_7102)
    private static let other = IPAddress(ipv4: 0xC633_6402)

    /// How one host answers: the lost ones of its echoes, and its round trips in milliseconds.
    private struct Answers {
        var lost = 0
        /// Nil if none was lost beside another one.
        var gaps: Int?
        var trips: [Double]
        var sent = 46

        init(_ milliseconds: Double..., lost: Int = 0, gaps: Int? = nil, of sent: Int = 46) {
            (self.trips, self.lost, self.gaps, self.sent) = (milliseconds, lost, gaps, sent)
        }
    }

    private static func host(_ segment: Segment, _ address: IPAddress, _ answers: Answers) -> QualityEvidence.Host {
        var host = QualityEvidence.Host(segment, address)
        (host.sent, host.gaps) = (answers.sent, answers.gaps ?? answers.lost)
        host.roundTrips = (0..<answers.sent - answers.lost).map {
            .microseconds(Int64(answers.trips[$0 % answers.trips.count] * 1000))
        }
        return host
    }

    /// Evidence of a way of 1.2, 11.5 and 31.7 ms without loss, as far as `change` leaves it.
    private static func evidence(
        router: Answers? = Answers(1.2), provider: Answers? = Answers(11.5), server: Answers? = Answers(31.7),
        other: Answers? = Answers(31.8), _ change: (inout QualityEvidence) -> Void = { _ in }
    ) -> QualityEvidence {
        var evidence = QualityEvidence(interface: "lan")
        evidence.hosts = [
            router.map { self.host(.router, self.router, $0) },
            provider.map { self.host(.provider, self.provider, $0) },
            server.map { self.host(.server, self.server, $0) },
        ].compactMap(\.self)
        evidence.reference = other.map { self.host(.reference, self.other, $0) }
        (evidence.phases.connect, evidence.phases.processing) = (.milliseconds(32), .milliseconds(34))
        change(&evidence)
        return evidence
    }

    private static func phases(_ evidence: inout QualityEvidence, _ connect: Int, _ processing: Int) {
        evidence.phases.connect = .milliseconds(connect)
        evidence.phases.processing = .milliseconds(processing)
    }

    // MARK: Loss

    @Test("Loss from the router on begins before or in it, and nothing behind it can be judged")
    func lossNear() {
        let quality = QualityTable.quality(
            of: Self.evidence(
                router: Answers(3, lost: 6), provider: Answers(14, lost: 7), server: Answers(34, lost: 6),
                other: Answers(33, lost: 8)))
        #expect(quality.cause == .lossNear(6.0 / 46, router: Self.router))
        #expect(quality.hidden == [.provider, .path, .server])
        #expect(quality.cause.map { Cause.slow($0).party } == .unknown)
    }

    @Test(
        "Loss before the router is this host's link if the interface counts errors",
        arguments: [(1, 300, false), (2, 300, true), (2, 30_000, false)])
    func lossOnLink(errors: UInt64, packets: UInt64, isLink: Bool) {
        let lossy = Answers(3, lost: 6)
        let evidence = Self.evidence(router: lossy, provider: lossy, server: lossy, other: lossy) {
            ($0.own.errors, $0.own.packets) = (errors, packets)
        }
        let quality = QualityTable.quality(of: evidence)
        #expect((quality.cause == .lossOnLink(6.0 / 46, interface: "lan")) == isLink)
        #expect(quality.cause.map { Cause.slow($0).party } == (isLink ? .mine : .unknown))
        #expect(quality.hidden.contains(.router) == isLink)
    }

    @Test("Loss behind a router that loses nothing is the provider's; if it may lose some, the two stay a pair")
    func lossBehind() {
        func cause(_ lost: Int) -> SlowCause? {
            QualityTable.quality(
                of: Self.evidence(
                    router: Answers(1.2, lost: lost), provider: Answers(12, lost: 8), server: Answers(32, lost: 9),
                    other: Answers(32, lost: 8))
            ).cause
        }
        #expect(cause(0) == .lossBehind(8.0 / 46, router: Self.router, isEverywhere: true))
        #expect(cause(1) == .lossInOrBehind(8.0 / 46, router: Self.router))
        let uneven = Self.evidence(
            router: Answers(1.2, of: 75), provider: Answers(12, lost: 12, of: 75), server: Answers(32, lost: 2, of: 75),
            other: Answers(32, lost: 11, of: 75))
        #expect(
            QualityTable.quality(of: uneven).cause
                == .lossBehind(11.0 / 75, router: Self.router, isEverywhere: true))
        let one = Self.evidence(
            provider: Answers(12, lost: 1), server: Answers(32, lost: 12), other: Answers(32, lost: 1)
        ) { Self.phases(&$0, 32, 300) }
        #expect(QualityTable.quality(of: one).cause?.segment == .path, "the target's own")
    }

    @Test("A gap that all hosts had, and some loss beyond the router, does not make the gap the provider's")
    func commonGap() {
        let beyond = Answers(32, lost: 22, gaps: 3)
        let evidence = Self.evidence(
            router: Answers(1.2, lost: 20, gaps: 1), provider: beyond, server: beyond, other: beyond)
        #expect(QualityTable.quality(of: evidence).cause == .lossInOrBehind(22.0 / 46, router: Self.router))
    }

    @Test("Two destinations that lose are the provider's also if no router beyond the gateway answers")
    func lossOfTwo() {
        let evidence = Self.evidence(provider: nil, server: Answers(32, lost: 9), other: Answers(32, lost: 8))
        #expect(
            QualityTable.quality(of: evidence).cause
                == .lossBehind(8.0 / 46, router: Self.router, isEverywhere: true))
    }

    @Test("One destination alone does not convict the provider: the network behind the router may be another one")
    func lossOfOne() throws {
        let evidence = Self.evidence(provider: Answers(12, lost: 8), server: Answers(32, lost: 9), other: nil)
        let cause = try #require(QualityTable.quality(of: evidence).cause)
        #expect(cause == .lossBehind(8.0 / 46, router: Self.router, isEverywhere: false))
        #expect(Cause.slow(cause).party == .unknown)
    }

    @Test("Loss of the target alone is on the way if a connection lost a packet, too: the target may limit echoes")
    func lossOnTheWay() {
        func cause(connect: Int, other: Answers? = Answers(31.8), provider: Answers? = Answers(11.5)) -> SlowCause? {
            let evidence = Self.evidence(provider: provider, server: Answers(32, lost: 6), other: other) {
                Self.phases(&$0, connect, 300)
            }
            return QualityTable.quality(of: evidence).cause
        }
        #expect(cause(connect: 1032) == .lossOnTheWay(6.0 / 46, to: Self.server))
        #expect(cause(connect: 1032, other: nil) == .lossOnTheWay(6.0 / 46, to: Self.server))
        #expect(cause(connect: 32) == .echoLoss(6.0 / 46, to: Self.server))
        #expect(cause(connect: 1032, other: nil, provider: nil) == .echoLoss(6.0 / 46, to: Self.server))
        let quick = Self.evidence(server: Answers(32, lost: 6))
        #expect(QualityTable.quality(of: quick).cause == nil, "it is not slow")
    }

    @Test(
        "Routers that answer few echoes, single gaps and short measurements prove no loss",
        arguments: [
            evidence(router: Answers(1.2, lost: 20)), evidence(provider: Answers(11.5, lost: 40)),
            evidence(router: Answers(1.2, lost: 20), provider: Answers(11.5, lost: 20)),
            evidence(router: Answers(1.2, lost: 1), provider: Answers(12, lost: 1), server: Answers(32, lost: 1)),
            evidence(server: Answers(32, lost: 1, of: 10), other: Answers(32, lost: 1, of: 10)),
            evidence(router: Answers(1.2, lost: 9), provider: nil, server: nil, other: nil),
            // A gap of 160 ms: a change of the access point.
            evidence(
                router: Answers(3, lost: 4, gaps: 1), provider: Answers(14, lost: 4, gaps: 1),
                server: Answers(34, lost: 4, gaps: 1), other: Answers(33, lost: 4, gaps: 1)),
        ])
    fileprivate func noLoss(_ evidence: QualityEvidence) {
        #expect(QualityTable.quality(of: evidence).cause == nil)
    }

    // MARK: This host

    private static let waiting: [UInt32] = [36_000, 0, 0, 36_000, 36_000, 36_000, 0, 36_000, 36_000, 0]

    /// Everything from the router on takes 70 ms more than usual.
    private static func late(router: Answers? = Answers(71), _ own: HostEvidence) -> QualityEvidence {
        var evidence = self.evidence(
            router: router, provider: Answers(82), server: Answers(102), other: Answers(100)
        ) {
            $0.own = own
            Self.phases(&$0, 102, 300)
        }
        for (index, normal) in zip(evidence.hosts.indices.reversed(), [32, 12, 1]) {
            evidence.hosts[index].normal = .milliseconds(normal)
        }
        return evidence
    }

    @Test("What waits in this host's own queue is this host's, if packets wait in it again and again")
    func ownQueue() {
        var own = HostEvidence()
        own.backlogs = Self.waiting
        let expected = SlowCause.ownQueue(.milliseconds(71), interface: "lan", normal: .milliseconds(1))
        let quality = QualityTable.quality(of: Self.late(own))
        #expect(quality.cause == expected && quality.hidden == [.link, .router, .provider, .path, .server])
        #expect(Cause.slow(expected).party == .mine)
        #expect("\(Cause.slow(expected))" == "this host's own queue on lan takes 71 ms instead of 1 ms")
        let silent = QualityTable.quality(of: Self.late(router: nil, own)).cause
        #expect(silent == .ownQueue(.milliseconds(82), interface: "lan", normal: .milliseconds(12)))
        let delay = SlowCause.delayNear(.milliseconds(71), router: Self.router, normal: .milliseconds(1))
        for backlogs in [[], [36_000, 36_000], [0, 0, 36_000, 0, 36_000]] as [[UInt32]] {
            own.backlogs = backlogs
            #expect(QualityTable.quality(of: Self.late(own)).cause == delay)
        }
    }

    @Test("Without a usual time, a queue of this host's own explains a late router as well; a flat router acquits it")
    func ownQueueAlways() {
        func cause(router: Double, traffic: Double? = nil) -> SlowCause? {
            let evidence = Self.evidence(
                router: Answers(router), provider: Answers(382), server: Answers(402), other: Answers(400)
            ) {
                ($0.own.backlogs, $0.ownTraffic) = (Self.waiting, traffic)
                Self.phases(&$0, 402, 410)
            }
            return QualityTable.quality(of: evidence).cause
        }
        #expect(cause(router: 371) == .ownQueue(.milliseconds(371), interface: "lan"))
        #expect(cause(router: 1) == .delayBehind(.milliseconds(382), to: Self.provider, ownTraffic: nil))
        let fast = cause(router: 371, traffic: 600_000_000)
        #expect(fast?.segment == .router, "a fast line has a few packets in its queue at any time")
        let quick = Self.evidence { $0.own.backlogs = Self.waiting }
        #expect(QualityTable.quality(of: quick).cause == nil, "nothing is slow")
    }

    @Test(
        "A full queue of this host's own drops what programs send, if the way is late or lossy from its beginning",
        arguments: [false, true])
    func ownQueueDrops(isLoss: Bool) {
        func cause(
            _ drops: UInt64?, _ datagrams: UInt64?, backlogs: [UInt32] = [0, 0, 0, 0, 0], of packets: UInt64 = 900
        ) -> SlowCause? {
            var own = HostEvidence()
            own.packets = packets
            (own.drops, own.refusedDatagrams, own.backlogs) = (drops, datagrams, backlogs)
            let lossy = Answers(3, lost: 6)
            let evidence =
                isLoss
                ? Self.evidence(router: lossy, provider: lossy, server: lossy, other: lossy) { $0.own = own }
                : Self.late(own)
            return QualityTable.quality(of: evidence).cause
        }
        let normal: Duration? = isLoss ? nil : .milliseconds(1)
        #expect(cause(151, nil) == .ownQueueDrops(151, interface: "lan", normal: normal))
        #expect(cause(nil, 47, backlogs: Self.waiting) == .ownQueueDrops(47, interface: "lan", normal: normal))
        #expect(cause(9, 9)?.segment == .router && cause(151, nil, of: 20_000)?.segment == .router)
        #expect(cause(nil, 47, backlogs: [])?.segment == .router, "another interface refused them")
        #expect(cause(nil, 47)?.segment == .router, "the buffers of their sockets were full")
        let clean = Self.evidence { ($0.own.drops, $0.own.backlogs) = (151, [0]) }
        #expect(QualityTable.quality(of: clean).cause == nil, "nothing is slow")
    }

    @Test("Loss or delay up to the router is the radio link's if that is weak, or repeats or loses frames")
    func radio() {
        func cause(_ signal: Int, _ repeated: UInt64, _ failed: UInt64 = 0, of sent: UInt64 = 100) -> SlowCause? {
            var own = HostEvidence()
            (own.signal, own.sentFrames, own.repeatedFrames, own.failedFrames) = (signal, sent, repeated, failed)
            let lossy = Answers(3, lost: 6)
            let loss = Self.evidence(router: lossy, provider: lossy, server: lossy, other: lossy) {
                ($0.own, $0.own.errors, $0.own.packets) = (own, nil, nil)
            }
            let (first, second) = (QualityTable.quality(of: loss).cause, QualityTable.quality(of: Self.late(own)).cause)
            #expect(first?.segment == second?.segment)
            return first
        }
        #expect(cause(-81, 38) == .weakRadio(interface: "lan", signal: -81, repeated: 0.38))
        #expect(cause(-75, 0, of: 10) == .weakRadio(interface: "lan", signal: -75, repeated: nil))
        #expect(cause(-60, 30) == .disturbedRadio(interface: "lan", repeated: 0.3, failed: 0))
        #expect(cause(-60, 500, 4) == .disturbedRadio(interface: "lan", repeated: 1, failed: 0.04))
        #expect(cause(-74, 29)?.segment == .router, "a good link repeats some")
        #expect(cause(-60, 40, 40, of: 49)?.segment == .router, "too few frames")
        let clean = Self.evidence { $0.own.signal = -85 }
        #expect(QualityTable.quality(of: clean).cause == nil, "nothing is slow")
        #expect(
            "\(Cause.slow(.weakRadio(interface: "wlan0", signal: -81, repeated: 0.38)))"
                == "the radio link of wlan0 is weak (−81 dBm, 38 % of frames sent again)")
    }

    @Test("Speed, duplex and carrier are worth a line only beside trouble near this host")
    func linkFindings() {
        func findings(_ lost: Int, _ change: (inout HostEvidence) -> Void) -> [String] {
            let answers = Answers(3, lost: lost)
            let evidence = Self.evidence(router: answers, provider: answers, server: answers, other: answers) {
                change(&$0.own)
            }
            return QualityTable.quality(of: evidence).findings
        }
        func slow(_ own: inout HostEvidence) { (own.speed, own.isHalfDuplex, own.carrierLosses) = (10, true, 1) }
        #expect(
            findings(6, slow) == [
                "lan runs at half duplex: its other end may be set to full duplex", "lan runs at 10 Mbit/s",
                "lan lost its carrier during the measurement",
            ])
        #expect(findings(0, slow).isEmpty)
        #expect(findings(6) { ($0.speed, $0.carrierLosses) = (1000, 0) }.isEmpty)
    }

    // MARK: Delay

    @Test("A router from which on everything is late is where the delay begins")
    func delayNear() {
        let near = Self.evidence(
            router: Answers(160, 170), provider: Answers(172), server: Answers(192), other: Answers(190)
        ) { Self.phases(&$0, 192, 200) }
        #expect(QualityTable.quality(of: near).cause == .delayNear(.milliseconds(160), router: Self.router))
        let busy = Self.evidence(router: Answers(160)) { Self.phases(&$0, 32, 1400) }
        #expect(
            QualityTable.quality(of: busy).cause == .slowServer(.milliseconds(1400), roundTrip: .microseconds(31_700)),
            "a router that answers echoes late forwards quickly")
        let alone = Self.evidence(router: Answers(60), provider: Answers(15), server: nil, other: nil) {
            Self.phases(&$0, 110, 200)
        }
        #expect(QualityTable.quality(of: alone).cause == nil, "the host behind it is quicker")
    }

    @Test(
        "A long line behind the router may be full or long, and this host's own traffic is named",
        arguments: [false, true])
    func delayBehind(hasTraffic: Bool) throws {
        let evidence = Self.evidence(provider: Answers(407), server: Answers(427), other: Answers(529)) {
            $0.ownTraffic = hasTraffic ? 3_900_000 : 200_000
            Self.phases(&$0, 427, 430)
            var flow = Flow(to: Self.other)
            (flow.program, flow.time, flow.sentBytes) = ("curl", .seconds(2), 950_000)
            $0.flows = [flow]
        }
        let quality = QualityTable.quality(of: evidence)
        let cause = try #require(quality.cause)
        #expect(cause.segment == .provider && Cause.slow(cause).party == .unknown)
        #expect("\(Cause.slow(cause))".hasPrefix("the line behind your router takes 407 ms to 100.64.0.2"))
        #expect("\(Cause.slow(cause))".hasSuffix("; this host moves 3.9 Mbit/s") == hasTraffic)
        #expect(quality.findings == (hasTraffic ? ["curl moves 3.8 Mbit/s to or from \(Self.other)"] : []))
    }

    @Test("A queue before the target, with another destination flat, is on the way; distance is no trouble")
    func delayOnTheWay() {
        let queue = Self.evidence(server: Answers(32, 322, 330, 340)) { Self.phases(&$0, 322, 330) }
        #expect(QualityTable.quality(of: queue).cause == .delayOnTheWay(.milliseconds(308), to: Self.server))
        let far = Self.evidence(server: Answers(205)) { Self.phases(&$0, 205, 207) }
        #expect(QualityTable.quality(of: far).cause == nil)
        let distance = "203.0.113.2 is 205 ms away, and a request takes 2 round trips"
        #expect(QualityTable.quality(of: far).findings == [distance])
        let mobile = Self.evidence(provider: Answers(70), server: Answers(100)) { Self.phases(&$0, 150, 155) }
        #expect(QualityTable.quality(of: mobile).cause == nil, "a mobile line takes that")
    }

    @Test("A resolver is late if its answer takes longer than the way to it; else the way is long")
    func resolver() {
        func cause(_ answer: Int, _ way: Int) -> SlowCause? {
            let evidence = Self.evidence {
                $0.phases.resolve = .milliseconds(answer)
                $0.lookup = .init(
                    resolver: Self.other, answer: .milliseconds(answer), roundTrip: .milliseconds(way))
            }
            return QualityTable.quality(of: evidence).cause
        }
        #expect(cause(332, 32) == .slowResolver(Self.other, .milliseconds(332)))
        #expect(cause(332, 330) == .farResolver(Self.other, .milliseconds(330)))
        #expect(cause(240, 120) == nil, "neither takes long enough")
    }

    @Test("A server that answers late is the server's, unless the network is bad: then it cannot be judged")
    func server() {
        let late = Self.evidence { Self.phases(&$0, 32, 2034) }
        #expect(
            QualityTable.quality(of: late).cause == .slowServer(.milliseconds(2034), roundTrip: .microseconds(31_700)))
        let both = Self.evidence(
            provider: Answers(12, lost: 9), server: Answers(32, lost: 9), other: Answers(32, lost: 9)
        ) { Self.phases(&$0, 32, 2034) }
        let quality = QualityTable.quality(of: both)
        #expect(quality.cause?.segment == .provider && quality.hidden.contains(.server))
        for time in [200, 900] {
            let quick = Self.evidence { Self.phases(&$0, 32, time) }
            #expect(QualityTable.quality(of: quick).cause == nil, "a page may take that")
        }
    }

    @Test("A host whose own timers are late says nothing about others")
    func busyHost() {
        let evidence = Self.evidence(
            router: Answers(30, lost: 10), provider: Answers(60, lost: 12), server: Answers(90, lost: 14)
        ) { $0.lateness = .milliseconds(35) }
        let quality = QualityTable.quality(of: evidence)
        #expect(quality.cause == nil)
        #expect(quality.findings == ["this host is too busy to measure: its timers are 35 ms late"])
    }

    @Test("A host that its CPU quota stops measures nothing, and a busy CPU alone is no reason")
    func quota() {
        func quality(_ throttled: UInt64, of periods: UInt64) -> Quality {
            let lossy = Answers(3, lost: 6)
            return QualityTable.quality(
                of: Self.evidence(router: lossy, provider: lossy, server: lossy, other: lossy) {
                    ($0.own.throttledPeriods, $0.own.quotaPeriods, $0.own.pressure) = (throttled, periods, 0.94)
                })
        }
        #expect(quality(2, of: 20).cause == nil)
        #expect(
            quality(2, of: 20).findings == [
                "this host is too busy to measure: its CPU quota was used up in 2 of 20 periods"
            ])
        #expect(quality(1, of: 20).cause != nil && quality(4, of: 4).cause != nil)
        let late = Self.evidence { ($0.lateness, $0.own.pressure) = (.milliseconds(35), 0.94) }
        #expect(QualityTable.quality(of: late).findings[0].hasSuffix("wait for a processor 94 % of the time"))
    }

    @Test("A target that is slow for a reason that is not known is not called fast")
    func unexplained() {
        let late = Self.evidence { Self.phases(&$0, 3032, 34) }
        #expect(QualityTable.quality(of: late).findings == ["it took 3.1 s, and the reason is not known"])
        let silent = Self.evidence(router: nil, provider: nil, server: nil, other: nil)
        #expect(QualityTable.quality(of: silent).findings == ["no host on the path answers echoes"])
    }

    @Test(
        "Each cause is a sentence that fits on a line, with advice",
        arguments: [router, IPAddress("2001:db8:1234:5678::1")])
    func sentences(address: IPAddress?) throws {
        let address = try #require(address)
        let causes: [SlowCause] = [
            .ownQueue(.milliseconds(407), interface: "enx00e04c680123", normal: .microseconds(1200)),
            .ownQueueDrops(15_100, interface: "enx00e04c680123"),
            .weakRadio(interface: "wlx00c0ca680123", signal: -81, repeated: 0.38),
            .disturbedRadio(interface: "wlx00c0ca680123", repeated: 0.38, failed: 0.12),
            .lossOnLink(0.14, interface: "enx00e04c680123"), .lossNear(0.14, router: address),
            .lossInOrBehind(0.05, router: address),
            .lossBehind(0.1, router: address, isEverywhere: true), .lossOnTheWay(0.1, to: address),
            .echoLoss(0.2, to: address), .delayNear(.milliseconds(41), router: address),
            .delayBehind(.milliseconds(407), to: address, ownTraffic: 3_900_000),
            .delayOnTheWay(.milliseconds(322), to: address), .slowResolver(address, .milliseconds(332)),
            .slowServer(.milliseconds(2034), roundTrip: .milliseconds(32)),
            .lateAccept(.milliseconds(1032), roundTrip: .milliseconds(32)),
            .connection(.unreadData(78_000, by: "postgres")),
            .connection(.smallBuffer(8688, by: "a program of uid 65534", roundTrip: .milliseconds(32))),
            .connection(.serverDoesNotRead(address)),
            .connection(.smallWindow(8688, of: address, roundTrip: .milliseconds(32))),
            .connection(.rateLimit(3_600_000, to: address)), .connection(.serverPauses(.milliseconds(200), address)),
            .farResolver(address, .milliseconds(182)),
        ]
        for cause in causes {
            var explanation = Explanation(target: "api.test", addresses: [], ladders: [], conclusion: .worksBut)
            explanation.quality = Quality(Self.evidence())
            explanation.quality?.cause = cause
            let sentence = explanation.sentence
            #expect(sentence.hasPrefix("Slow: ") && sentence.count <= Sentence.maxLength)
            #expect(sentence.count > 40, "nothing but an address may be shortened: \(sentence)")
            #expect(cause.advice.hasSuffix("."))
        }
    }

    @Test("The interval of a loss is Wilson's", arguments: [(0, 20, 0, 0.161), (5, 100, 0.0215, 0.1118)])
    func interval(lost: Int, sent: Int, low: Double, high: Double) throws {
        let interval = try #require(Self.host(.server, Self.server, Answers(32, lost: lost, of: sent)).lossInterval)
        #expect(abs(interval.lowerBound - low) < 0.001 && abs(interval.upperBound - high) < 0.001)
    }
}
