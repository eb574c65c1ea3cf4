import Testing
import TidegateCore

@testable import TidegateSession

@Suite
struct FaultAttributorTests {
    private static let path = NetworkPath(
        interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"))
    private static let otherPath = NetworkPath(
        interface: "eth1", index: 3, gateway: IPAddress("10.9.0.1"), source: IPAddress("10.9.0.2"))

    private static func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    // A connection that was never answered.
    private static func silence() -> FailureEvidence {
        let verdict = Verdict(level: .routed, path: Self.path)
        var evidence = FailureEvidence(
            failure: .timedOut, stage: .connect, peer: IPAddress("192.0.2.7"), before: verdict, after: verdict)
        (evidence.local, evidence.unanswered) = (IPAddress("10.0.0.2"), 4)
        return evidence
    }

    private static func party(_ attributor: FaultAttributor, at seconds: Int = 1) -> FaultParty? {
        attributor.attribute(Self.silence(), target: 9, on: Self.path, at: Self.at(seconds))?.party
    }

    @Test("Others that answered on the same path show that the fault lies behind what is shared, as long as they count")
    func others() {
        var attributor = FaultAttributor()
        let alone = Self.party(attributor)
        attributor.note(1, on: Self.path, isReached: true, at: Self.at(0))
        let withOthers = Self.party(attributor)
        #expect(withOthers == .path)
        #expect(alone == .unknown)
        #expect(Self.party(attributor, at: 40) == alone)
    }

    @Test("Others that answered before the attempt began say nothing of its silence")
    func before() {
        var attributor = FaultAttributor()
        attributor.note(1, on: Self.path, isReached: true, at: Self.at(0))
        var evidence = Self.silence()
        evidence.silentSince = Self.at(1)
        #expect(attributor.attribute(evidence, target: 9, on: Self.path, at: Self.at(2))?.party == .unknown)
        attributor.note(2, on: Self.path, isReached: true, at: Self.at(1))
        #expect(attributor.attribute(evidence, target: 9, on: Self.path, at: Self.at(2))?.party == .path)
    }

    @Test("Neither the target itself nor a target on another path is evidence")
    func unrelated() {
        var attributor = FaultAttributor()
        let alone = Self.party(attributor)
        attributor.note(9, on: Self.path, isReached: true, at: Self.at(0))
        attributor.note(1, on: Self.otherPath, isReached: true, at: Self.at(0))
        #expect(Self.party(attributor) == alone)
    }

    @Test("A failure that was no attempt's is attributed by the verdict")
    func verdict() {
        let attributor = FaultAttributor()
        let lost = Verdict(level: .none, reason: .noCarrier)
        #expect(attributor.attribute(.gateTimeout, verdict: lost)?.party == .mine)
    }

    @Test("Another address's path is no change while the best path stays the same")
    func pathBefore() {
        let (path, other) = (Self.path, Self.otherPath)
        #expect(FaultAttributor.pathBefore(connected: path, first: other, best: other, after: other) == path)
        #expect(FaultAttributor.pathBefore(connected: nil, first: path, best: path, after: other) == other)
        #expect(FaultAttributor.pathBefore(connected: nil, first: path, best: other, after: other) == path)
        #expect(FaultAttributor.pathBefore(connected: nil, first: nil, best: other, after: other) == nil)
    }
}
