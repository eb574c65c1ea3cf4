import Testing
import TidegateCore

@testable import TidegateNetwork
@testable import TidegateReachability

/// Which answers of a gateway count for the next diagnosis.
@Suite struct DiagnosisMemoryTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let place = at("eth0", 77)
    private static let silence = [Witness(.hopWalk, .nothing)]
    private static let answering = GatewayFindings(firstHop: .milliseconds(1))

    private static func at(_ link: String, _ index: UInt32) -> NeighbourKey? {
        NetworkPath(interface: link, index: index, gateway: self.gateway, source: nil).gatewayKey
    }

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: (100 + seconds) * 1_000_000_000) }

    @Test("In a silence each diagnosis may walk for two minutes, then one a minute, and after an hour ten an hour")
    func walks() throws {
        let memory = DiagnosisMemory()
        func walks(_ seconds: some Sequence<UInt64>) -> [UInt64] {
            seconds.filter { memory.takesWalk(about: nil, at: self.at($0)) }
        }
        #expect(walks(stride(from: 0, through: 120, by: 10)) == Array(stride(from: 0, through: 120, by: 10)))
        #expect(walks(stride(from: 130, through: 300, by: 10)) == [180, 240, 300])
        #expect(memory.takesWalk(about: try Target("web.test:443"), at: self.at(301)), "a target has its own")
        #expect(walks(stride(from: 310, through: 3_600, by: 10)).count == 55)
        #expect(walks(stride(from: 3_610, through: 7_200, by: 10)).count == 10)
        #expect(walks(stride(from: 8_100, through: 8_120, by: 10)) == [8_100, 8_110, 8_120], "another silence")
    }

    @Test("An answer in an outage counts for 30 seconds, also one that only a walk brought")
    func outage() throws {
        let (place, other) = (try #require(Self.place), try #require(Self.at("wlan0", 78)))
        for (findings, witness) in [
            (Self.answering, Witness.Reach.nothing), (GatewayFindings(udpProbe: .answered), .nothing),
            (GatewayFindings(), .gateway),
        ] {
            let memory = DiagnosisMemory()
            memory.record(place, findings, [Witness(.hopWalk, witness)], at: self.at(0))
            #expect(memory.answeredAgo(place, at: self.at(30)) == .seconds(30))
            #expect(memory.answeredAgo(place, at: self.at(31)) == nil)
            #expect(memory.answeredAgo(other, at: self.at(1)) == nil)
        }
    }

    @Test("One that is remembered is no new answer: the memory ends 30 seconds after the last one")
    func remembered() throws {
        let place = try #require(Self.place)
        let memory = DiagnosisMemory()
        memory.record(place, Self.answering, Self.silence, at: self.at(0))
        let silent = GatewayFindings(udpProbe: .silent, answeredAgo: .seconds(20))
        memory.record(place, silent, Self.silence, at: self.at(20))
        #expect(memory.answeredAgo(place, at: self.at(21)) == .seconds(21))
    }

    @Test("It is forgotten once something beyond answers, or once its link-layer address is no longer found")
    func forgotten() throws {
        let place = try #require(Self.place)
        for (findings, witnesses) in [
            (Self.answering, [Witness(.resolver, .beyond(nil))]),
            (GatewayFindings(udpProbe: .unresolved(nil)), Self.silence),
        ] {
            let memory = DiagnosisMemory()
            memory.record(place, Self.answering, Self.silence, at: self.at(0))
            memory.record(place, findings, witnesses, at: self.at(1))
            #expect(memory.answeredAgo(place, at: self.at(1)) == nil)
        }
    }

    @Test("A diagnosis that asked no party beyond it neither adds to the memory nor takes from it")
    func unasked() throws {
        let place = try #require(Self.place)
        let memory = DiagnosisMemory()
        memory.record(place, Self.answering, [], at: self.at(0))
        #expect(memory.answeredAgo(place, at: self.at(0)) == nil)
        memory.record(place, Self.answering, Self.silence, at: self.at(1))
        memory.record(place, GatewayFindings(udpProbe: .silent), [], at: self.at(2))
        #expect(memory.answeredAgo(place, at: self.at(2)) == .seconds(1))
    }

    @Test("A gateway that is remembered and still on its link answers; without its link-layer address it does not")
    func answers() {
        var findings = GatewayFindings(udpProbe: .silent, probedAgo: .seconds(2))
        findings.neighbour = KernelNeighbour(address: Self.gateway, link: 77, state: .reachable)
        #expect(findings.answer == nil)
        findings.answeredAgo = .seconds(10)
        #expect(findings.answer == .answered(nil) && !findings.hasAnswered)
        findings.neighbour = KernelNeighbour(address: Self.gateway, link: 77, state: .failed)
        #expect(findings.answer == nil)
        findings.neighbour = KernelNeighbour(address: Self.gateway, link: 77, state: .incomplete)
        #expect(findings.answer == .unresolved)
    }
}
