import Testing
import TidegateTesting

@testable import TidegateAttribution
@testable import TidegateCore
@testable import TidegateReachability

/// When the hosts on the way out get echoes, and what makes the watch measure.
@Suite struct QualityWatchTests {
    private static let (own, gateway) = (IPAddress(ipv4: 0x0A00_0002), IPAddress(ipv4: 0x0A00_0001))
    private static let path = NetworkPath(interface: "eth0", index: 2, gateway: gateway, source: own)
    private static let hosts = [
        QualityStatus.Host(.router, gateway), QualityStatus.Host(.provider, IPAddress(ipv4: 0x6440_0101)),
    ]
    private static let trips: [Duration?] = [.milliseconds(1), .milliseconds(5)]

    private var watch = QualityWatch(normals: QualityNormals(), at: Self.at(0).monotonic)

    private static func at(_ seconds: Double) -> QualityWatch.Moment {
        .init(
            monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds),
            wall: WallTime(microseconds: 1_790_000_000_000_000) + .seconds(seconds))
    }

    /// The names of the effects that ask for something, in order.
    private mutating func names(
        _ input: QualityWatch.Input? = nil, over path: NetworkPath? = Self.path, isChecking: Bool = false,
        at seconds: Double
    ) -> [String] {
        self.watch.handle(input, over: path, isChecking: isChecking, at: Self.at(seconds)).compactMap { effect in
            switch effect {
            case .publish(let event): event.target == nil ? "network" : "target"
            case .known: nil
            case .echo(_, let hosts): hosts == nil ? "search" : "echo"
            case .measure(let subject, _, _): subject == .network ? "measure" : "measure a target"
            case .keep: "keep"
            }
        }
    }

    private func echoes(_ trips: [Duration?] = Self.trips, isSearch: Bool = false) -> QualityWatch.Input {
        .echoed(EchoRound(found: isSearch ? (Self.hosts, nil) : nil, trips: trips))
    }

    /// A watch that knows its hosts, has measured the path once, and has nothing to do.
    private mutating func begin() {
        _ = self.names(at: 0)
        #expect(self.names(at: 10) == ["search"])
        _ = self.names(self.echoes(isSearch: true), at: 10.1)
        for round in 1...5 where !self.watch.machine.status.hosts.allSatisfy({ $0.normal != nil }) {
            _ = self.names(at: 10 + Double(round) * 10)
            _ = self.names(self.echoes(), at: 10.1 + Double(round) * 10)
        }
        _ = self.names(.measured(.network, QualityEvidence(interface: "eth0")), at: 70)
    }

    @Test("The hosts are searched on a new path, then each gets an echo in ten seconds, one round at a time")
    mutating func rounds() {
        #expect(self.names(at: 1) == [] && self.watch.deadline == Self.at(10).monotonic)
        #expect(self.names(at: 10) == ["search"])
        #expect(self.names(at: 20) == [], "the worker has not answered")
        #expect(self.names(self.echoes(isSearch: true), at: 20.5) == ["echo"])
        #expect(self.watch.machine.status.hosts.map(\.segment) == [.router, .provider])
    }

    @Test("Nothing is asked on a metered path, in an outage, while a silence is checked, or if this process was late")
    mutating func quiet() {
        var metered = Self.path
        metered.metered = .yes
        #expect(self.names(over: metered, at: 10) == [])
        #expect(self.names(over: nil, at: 20) == [])
        #expect(self.names(isChecking: true, at: 30) == [])
        #expect(self.names(at: 40.1) == [], "100 ms late")
        #expect(self.names(at: 50.1) == ["search"])
    }

    @Test("A question from before a change of path says nothing, and a worker that hangs is given up")
    mutating func invalid() {
        #expect(self.names(at: 10) == ["search"])
        var other = Self.path
        other.gateway = IPAddress(ipv4: 0x0A00_00FE)
        _ = self.names(over: other, at: 11)
        _ = self.names(self.echoes(isSearch: true), over: other, at: 12)
        #expect(self.watch.machine.status.hosts.isEmpty)
        #expect(self.names(over: other, at: 20) == ["search"])
        #expect(self.names(over: other, at: 79) == [])
        #expect(self.names(over: other, at: 80) == [], "given up, and late")
        #expect(self.names(over: other, at: 90) == ["search"])
    }

    @Test("An answer that comes while a silence is checked waits for its end, and is void if the way out is dead")
    mutating func held() {
        #expect(self.names(at: 10) == ["search"])
        #expect(self.names(self.echoes(isSearch: true), isChecking: true, at: 11) == [])
        #expect(self.watch.machine.status.hosts.isEmpty)
        #expect(self.names(at: 12) == [])
        #expect(self.watch.machine.status.hosts.map(\.echoes.count) == [1, 1])
        #expect(self.names(isChecking: true, at: 19) == [] && self.names(at: 20) == ["echo"])
        #expect(self.names(self.echoes(), isChecking: true, at: 21) == [])
        _ = self.names(over: nil, at: 22)
        #expect(self.names(at: 30) == ["search"], "the answer of before the outage")
        #expect(self.watch.machine.status.hosts.isEmpty)
    }

    @Test("Requests to two remotes that lost their first packet make it measure; those to one remote do not")
    mutating func lateConnects() {
        self.begin()
        func connected(
            _ remote: UInt32, in connect: Duration?, from source: IPAddress = Self.own
        ) -> QualityWatch.Input {
            let now = Self.at(100).monotonic
            return .success(
                .init(
                    from: source, to: IPAddress(ipv4: remote), isEncrypted: false, connect: connect,
                    start: now - .seconds(2), end: now))
        }
        for _ in 0..<3 { #expect(self.names(connected(1, in: .milliseconds(1_031)), at: 72) == []) }
        #expect(self.names(connected(2, in: .milliseconds(899)), at: 72) == [])
        #expect(self.names(connected(3, in: nil), at: 72) == [])
        #expect(self.names(connected(4, in: .milliseconds(1_031), from: Self.gateway), at: 72) == [], "another path")
        #expect(self.names(connected(5, in: .milliseconds(1_031)), at: 72) == ["measure"])
    }

    @Test("The usual figures are kept each ten minutes")
    mutating func keeping() {
        var kept: [Double] = []
        for seconds in stride(from: 10.0, through: 1_300, by: 10) {
            if self.names(over: nil, at: seconds).contains("keep") { kept.append(seconds) }
        }
        #expect(kept == [600, 1_200])
    }
}
