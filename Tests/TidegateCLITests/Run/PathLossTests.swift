@testable import TidegateCore
import Testing
import Tidegate

@testable import TidegateCLI

@Suite struct PathLossTests {
    private func description(
        _ scope: PathEvent.Scope, from: Verdict, to: Verdict, family: AddressFamily? = nil, targets: [Target] = []
    ) -> String? {
        let event = Event(
            sequence: 1, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0),
            payload: .path(PathEvent(scope: scope, from: from, to: to)))
        return PathLoss(family: family, targets: targets).description(of: event, among: [Samples.carrierless])
    }

    private let cut = Verdict(level: .none, reason: .noCarrier)

    @Test("A path that is gone is a loss, one that came is none")
    func levels() {
        #expect(self.description(.global, from: Samples.routed, to: self.cut) == "eth0 has no carrier")
        #expect(self.description(.global, from: self.cut, to: Samples.routed) == nil)
        #expect(self.description(.global, from: Samples.routed, to: .unknown) == nil)
        #expect(self.description(.global, from: self.cut, to: Verdict(level: .none, reason: .noAddress)) == nil)
    }

    @Test("A path that became another one is a loss; one whose level rose is none")
    func moves() throws {
        var moved = Samples.routed
        var path = Samples.path
        (path.interface, path.index, path.gateway) = ("wlan0", 3, nil)
        moved.path = path
        #expect(
            self.description(.family(.ipv4), from: Samples.routed, to: moved)
                == "moved from eth0 via 10.0.0.1 from 10.0.0.2 to wlan0 from 10.0.0.2")
        var online = Samples.routed
        online.level = .online
        #expect(self.description(.family(.ipv4), from: Samples.routed, to: online) == nil)
    }

    @Test("Only the family and the targets asked about count")
    func scopes() throws {
        let target = try Target("10.0.0.9:22")
        #expect(self.description(.family(.ipv6), from: Samples.routed, to: self.cut, family: .ipv4) == nil)
        #expect(self.description(.global, from: Samples.routed, to: self.cut, family: .ipv4) == nil)
        #expect(self.description(.family(.ipv6), from: Samples.routed, to: self.cut, family: .ipv6) != nil)
        #expect(self.description(.target(target), from: Samples.routed, to: self.cut) == nil)
        #expect(self.description(.target(target), from: Samples.routed, to: self.cut, targets: [target]) != nil)
    }
}
