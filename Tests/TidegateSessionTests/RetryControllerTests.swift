import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

@Suite
struct RetryControllerTests {
    private static func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private static func origin(_ name: String = "a") throws -> Origin { try HTTPURL("http://\(name).test/").origin }

    private static func controller(countsBudgets: Bool = false) -> RetryController {
        RetryController(
            circuitPolicy: .init(), budgetPolicy: .init(), countsBudgets: countsBudgets,
            random: RandomSource(SeededGenerator(seed: 5)))
    }

    @Test("A wait that a server asks for holds for its origin alone, until it is over")
    func pause() throws {
        var controller = Self.controller()
        let (origin, other) = (try Self.origin(), try Self.origin("b"))
        controller.pause(origin, until: Self.at(60), at: Self.at(0))
        let (during, elsewhere) = (
            controller.pauseEnd(of: origin, at: Self.at(59)), controller.pauseEnd(of: other, at: Self.at(59))
        )
        #expect(during == Self.at(60))
        #expect(elsewhere == nil)
        let (after, again) = (
            controller.pauseEnd(of: origin, at: Self.at(60)), controller.pauseEnd(of: origin, at: Self.at(1))
        )
        #expect(after == nil && again == nil)
    }

    @Test("Five failures open an origin's circuit; the first task waits with a timer, and the others behind it")
    func circuit() throws {
        var controller = Self.controller()
        let origin = try Self.origin()
        for task in 1...4 {
            let pause = controller.originFails(origin, UInt64(task), at: Self.at(0))
            #expect(pause == nil)
        }
        let opened = controller.originFails(origin, 5, at: Self.at(0))
        let pause = try #require(opened)
        #expect(pause >= .seconds(30) && pause <= .seconds(36))
        let end = Self.at(0) + pause
        let (first, second) = (
            controller.admit(6, to: origin, at: Self.at(1)), controller.admit(7, to: origin, at: Self.at(1))
        )
        #expect(first == .wait(until: end))
        #expect(second == .wait(until: nil))
        let other = controller.admit(8, to: try Self.origin("b"), at: Self.at(1))
        #expect(other == .through)
        let next = try #require(controller.nextAtCircuit(of: origin, at: Self.at(1)))
        #expect(next.task == 6 && next.at == end)

        controller.leaveCircuit(6, of: origin)
        let probe = controller.admit(6, to: origin, at: end)
        #expect(probe == .asProbe)
        #expect(controller.nextAtCircuit(of: origin, at: end) == nil)
        let released = controller.originWorks(origin)
        #expect(released == [7])
        let closed = controller.originWorks(origin)
        #expect(closed == nil)
        let afterwards = controller.admit(9, to: origin, at: end)
        #expect(afterwards == .through)
    }

    @Test("A probe that ends without a result hands its turn to the next task, and only a probe can")
    func probeLeft() throws {
        var controller = Self.controller()
        let origin = try Self.origin()
        for task in 1...5 { _ = controller.originFails(origin, UInt64(task), at: Self.at(0)) }
        let probe = controller.admit(6, to: origin, at: Self.at(40))
        let waiting = controller.admit(7, to: origin, at: Self.at(40))
        #expect(probe == .asProbe && waiting == .wait(until: nil))
        let (byOther, byProbe) = (
            controller.probeLeft(7, of: origin, at: Self.at(41)), controller.probeLeft(6, of: origin, at: Self.at(41))
        )
        #expect(!byOther && byProbe)
        let next = try #require(controller.nextAtCircuit(of: origin, at: Self.at(41)))
        #expect(next.task == 7 && next.at == Self.at(41))
    }

    @Test("Retries are paid from their origin's budget, and a success gives back what its own retry had cost")
    func budget() throws {
        var controller = Self.controller(countsBudgets: true)
        let (origin, other) = (try Self.origin(), try Self.origin("b"))
        var paid = 0
        while controller.pay(.full, of: origin, at: Self.at(0)) { paid += 1 }
        #expect(paid == 35)
        let isOtherPaid = controller.pay(.full, of: other, at: Self.at(0))
        #expect(isOtherPaid)
        let wait = controller.timeToPay(.full, of: origin, at: Self.at(0))
        #expect(wait >= .milliseconds(100) && wait <= .seconds(66))
        controller.succeeded(origin, refunding: .full, at: Self.at(0))
        let isPaid = controller.pay(.full, of: origin, at: Self.at(0))
        #expect(isPaid)
        let tokens = controller.tokens(at: Self.at(0))
        #expect(tokens["a.test"] ?? .infinity < 20)
        #expect(tokens["b.test"] == 486)
    }

    @Test("A retry stops at the limit, at the deadline and at the end of the budget, in this order")
    func decisions() throws {
        var controller = Self.controller()
        let origin = try Self.origin()
        func limits(_ attempts: Int, untilDeadline: Duration? = nil) throws -> RetryCounter.Limits {
            RetryCounter.Limits(
                policy: RetryPolicy(attempts: attempts), atMost: nil, price: .full, asked: nil, active: .zero,
                untilDeadline: untilDeadline)
        }
        var counter = RetryCounter()
        counter.charge(madeProgress: false)
        let last = controller.next(&counter, try limits(1), of: origin, at: Self.at(0))
        #expect(last == .stop(.limit))
        let late = controller.next(&counter, try limits(3, untilDeadline: .zero), of: origin, at: Self.at(0))
        #expect(late == .stop(.deadline))
        #expect(counter.paid == nil)
        let retry = controller.next(&counter, try limits(3), of: origin, at: Self.at(0))
        let delay: Duration? = if case .wait(let delay) = retry { delay } else { nil }
        #expect(try #require(delay) <= .milliseconds(500))
        #expect(counter.paid == .full)
        while controller.pay(.full, of: origin, at: Self.at(0)) {}
        let poor = controller.next(&counter, try limits(3), of: origin, at: Self.at(0))
        #expect(poor == .stop(.budget))
    }

    @Test("Only what the server did says something about its health")
    func health() {
        func health(
            _ status: Int?, _ failure: TaskFailure?, _ kind: FailureClass, isProbe: Bool = false, isLost: Bool = false
        ) -> RetryController.OriginHealth {
            RetryController.health(status: status, failure: failure, kind: kind, isProbe: isProbe) { isLost }
        }
        #expect(health(200, nil, .status) == .works)
        #expect(health(404, .httpStatus, .status) == .works)
        #expect(health(503, .httpStatus, .status) == .fails)
        for kind in [FailureClass.connect, .timeout, .tlsCutOff] {
            #expect(health(nil, .timedOut, kind) == .fails)
            #expect(health(nil, .timedOut, kind, isLost: true) == .unknown)
        }
        #expect(health(nil, .reset, .transport) == .unknown)
        #expect(health(nil, .reset, .transport, isProbe: true) == .fails)
        for kind in [FailureClass.link, .dns, .tls, .client, .local] {
            #expect(health(nil, .internal, kind) == .unknown)
        }
    }
}
