import Testing
import TidegateCore

@testable import TidegateNetwork
@testable import TidegateReachability

/// Which answers of a gateway count for the next diagnosis.
@Suite struct GatewayMemoryTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let silence = [Witness(.hopWalk, .nothing)]
    private static let answering = GatewayFindings(firstHop: .milliseconds(1))

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: (100 + seconds) * 1_000_000_000) }

    @Test("An answer in an outage counts for 30 seconds, also one that only a walk brought")
    func outage() {
        for (findings, witness) in [
            (Self.answering, Witness.Reach.nothing), (GatewayFindings(udpProbe: .answered), .nothing),
            (GatewayFindings(), .gateway),
        ] {
            let memory = GatewayMemory()
            memory.record(Self.gateway, findings, [Witness(.hopWalk, witness)], at: self.at(0))
            #expect(memory.answeredAgo(Self.gateway, at: self.at(30)) == .seconds(30))
            #expect(memory.answeredAgo(Self.gateway, at: self.at(31)) == nil)
            #expect(memory.answeredAgo(IPAddress(ipv4: 1), at: self.at(1)) == nil)
        }
    }

    @Test("One that is remembered is no new answer: the memory ends 30 seconds after the last one")
    func remembered() {
        let memory = GatewayMemory()
        memory.record(Self.gateway, Self.answering, Self.silence, at: self.at(0))
        let silent = GatewayFindings(udpProbe: .silent, answeredAgo: .seconds(20))
        memory.record(Self.gateway, silent, Self.silence, at: self.at(20))
        #expect(memory.answeredAgo(Self.gateway, at: self.at(21)) == .seconds(21))
    }

    @Test("It is forgotten once something beyond answers, or once nobody answers for its link-layer address")
    func forgotten() {
        for (findings, witnesses) in [
            (Self.answering, [Witness(.resolver, .beyond(nil))]), (Self.answering, []),
            (GatewayFindings(udpProbe: .unresolved(nil)), Self.silence),
        ] {
            let memory = GatewayMemory()
            memory.record(Self.gateway, Self.answering, Self.silence, at: self.at(0))
            memory.record(Self.gateway, findings, witnesses, at: self.at(1))
            #expect(memory.answeredAgo(Self.gateway, at: self.at(1)) == nil)
        }
    }

    @Test("A gateway that is remembered and still on its link answers; without its link-layer address it does not")
    func answers() {
        var findings = GatewayFindings(udpProbe: .silent, probedAgo: .seconds(2))
        findings.neighbour = KernelNeighbour(Self.gateway, on: 77, .reachable)
        #expect(findings.answer == nil)
        findings.answeredAgo = .seconds(10)
        #expect(findings.answer == .answered(nil) && !findings.hasAnswered)
        findings.neighbour = KernelNeighbour(Self.gateway, on: 77, .failed)
        #expect(findings.answer == nil)
        findings.neighbour = KernelNeighbour(Self.gateway, on: 77, .incomplete)
        #expect(findings.answer == .unresolved)
    }
}
