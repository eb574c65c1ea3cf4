internal import Testing
internal import TidegateCore

/// What the outcomes of a hop walk say.
@Suite struct HopWalkResultTests {
    private static func exceeded(_ last: Int) throws -> HopWalkResult.Outcome {
        let router = try #require(IPAddress("10.0.0.\(last)"))
        return .answered(ICMPError(offender: router, type: 11, code: 0), by: router, after: .milliseconds(last))
    }

    private static func result(_ hops: [HopWalkResult.Outcome]) throws -> HopWalkResult {
        HopWalkResult(destination: try #require(IPAddress("203.0.113.10")), port: 443, hops: hops)
    }

    @Test("The last router that answers is the furthest one, silent ones between do not matter")
    func lastAnswer() throws {
        let result = try Self.result([try Self.exceeded(1), .silent, try Self.exceeded(3), .silent, .silent])
        #expect(result.lastAnswer?.hop == 3)
        #expect(result.lastAnswer?.address == IPAddress("10.0.0.3"))
        #expect(result.lastAnswer?.duration == .milliseconds(3))
        #expect(!result.isDestinationReached)
        #expect(result.answers.map(\.hop) == [1, 3])
    }

    @Test("Nothing beyond the gateway: the first hop answers, and no other")
    func gateway() throws {
        #expect(try Self.result([try Self.exceeded(1), .silent, .silent]).lastAnswer?.hop == 1)
        #expect(try Self.result([.silent, try Self.exceeded(2), .silent]).lastAnswer?.hop == 2)
        let reached = try Self.result([try Self.exceeded(1), .reached(.refused, after: .milliseconds(2))])
        #expect(reached.isDestinationReached)
        #expect(reached.arrival?.hop == 2)
        #expect(reached.arrival?.how == .refused)
    }

    @Test("Silence differs from packets that could not be sent")
    func failure() throws {
        let silent = try Self.result([.silent, .silent])
        #expect(silent.failure == nil && silent.lastAnswer == nil)
        let failed = try Self.result([.failed(101)])
        #expect(failed.failure == 101)
        // UDP alone was dropped here; TCP was answered.
        #expect(try Self.result([.failed(1), try Self.exceeded(2)]).failure == nil)
    }

    @Test("A router that answers for hop limits two apart is in a loop")
    func loop() throws {
        let (one, two, three) = (try Self.exceeded(1), try Self.exceeded(2), try Self.exceeded(3))
        let circle = [IPAddress("10.0.0.2"), IPAddress("10.0.0.3")]
        #expect(try Self.result([one, two, three, two, three]).loop == circle)
        #expect(try Self.result([one, two, .silent, two, .silent]).loop == [IPAddress("10.0.0.2")])
        #expect(try Self.result([one, two, two, .silent]).loop == [], "a router that forwards a spent hop limit")
        #expect(try Self.result([one, two, three, two, .reached(.connected, after: .zero)]).loop == [])
        let router = try #require(IPAddress("10.0.0.1"))
        let noRoute = HopWalkResult.Outcome.answered(
            ICMPError(offender: router, type: 3, code: 0), by: router, after: .zero)
        #expect(try Self.result([noRoute, noRoute, noRoute]).loop == [], "it forwards nothing")
    }
}
