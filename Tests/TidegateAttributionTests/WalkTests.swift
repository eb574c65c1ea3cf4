import Testing
import TidegateAttribution
import TidegateCore

/// What hop walks prove.
@Suite struct WalkTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let router = IPAddress(ipv4: 0xC000_024D)
    private static let target = IPAddress(ipv4: 0xC633_6402)

    private static func walk(_ routers: [IPAddress], reaching isReached: Bool = false) -> HopWalkResult {
        let hops = routers.map {
            HopWalkResult.Outcome.answered(
                ICMPError(offender: $0, type: 11, code: 0), by: $0, after: .milliseconds(1))
        }
        let end: HopWalkResult.Outcome = isReached ? .reached(.refused, after: .milliseconds(2)) : .silent
        return HopWalkResult(destination: self.target, port: 443, hops: hops + [end])
    }

    @Test("A walk proves the way as far as it came")
    func reach() {
        func reach(_ walk: HopWalkResult) -> Witness.Reach { walk.reach(past: Self.gateway, asking: Self.target) }
        #expect(reach(Self.walk([])) == .nothing)
        #expect(reach(Self.walk([Self.gateway])) == .gateway)
        #expect(reach(Self.walk([Self.gateway, Self.router])) == .router(Self.router))
        #expect(reach(Self.walk([Self.gateway], reaching: true)) == .destination)
    }

    @Test("A walk to the gateway proves the gateway, whatever it asks for there")
    func gatewayItself() {
        #expect(Self.walk([], reaching: true).reach(past: Self.target, asking: Self.target) == .gateway)
    }

    @Test("A host that answers speaks for itself only")
    func otherHost() {
        let walk = Self.walk([Self.gateway], reaching: true)
        #expect(walk.reach(past: Self.gateway, asking: Self.router) == .beyond(Self.target))
        #expect(walk.witness(past: Self.gateway, asking: Self.router).isEnd)
        #expect(!Self.walk([Self.gateway, Self.router]).witness(past: Self.gateway, asking: Self.target).isEnd)
    }
}
