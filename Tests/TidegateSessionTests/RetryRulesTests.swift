import Testing
import TidegateCore
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

@Suite
struct RetryRulesTests {
    private static func evidence(
        _ kind: FailureClass, _ failure: TaskFailure, status: Int? = nil, wire: Bool = true, idempotent: Bool = true,
        lost: Bool = false, resolve: ResolveFailure? = nil
    ) -> RetryClassifier.Evidence {
        RetryClassifier.Evidence(
            kind: kind, failure: failure, status: status, resolveFailure: resolve, reachedWire: wire,
            isIdempotent: idempotent, pathIsLost: lost)
    }

    @Test("What was never on the wire, or does no harm twice, is tried again; the rest is in doubt")
    func wireAndHarm() {
        let statuses = RetryPolicy().statuses
        func classify(_ evidence: RetryClassifier.Evidence) -> RetryClassifier.Decision {
            RetryClassifier.classify(evidence, statuses: statuses)
        }
        #expect(classify(Self.evidence(.transport, .reset)) == .retry(price: .full, atMost: nil))
        #expect(classify(Self.evidence(.transport, .reset, idempotent: false)) == .forbidden(.outcomeUnknown))
        #expect(
            classify(Self.evidence(.transport, .reset, wire: false, idempotent: false))
                == .retry(price: .connect, atMost: nil))
        #expect(classify(Self.evidence(.timeout, .timedOut, idempotent: false)) == .forbidden(.outcomeUnknown))
        #expect(
            classify(Self.evidence(.connect, .connectFailed, wire: false, idempotent: false))
                == .retry(price: .connect, atMost: nil))
        #expect(classify(Self.evidence(.tls, .tlsPinMismatch, wire: false)) == .final(.tlsPinMismatch))
        #expect(classify(Self.evidence(.tlsCutOff, .tlsFailed, wire: false)) == .retry(price: .full, atMost: 3))
        #expect(classify(Self.evidence(.local, .diskFull)) == .final(.diskFull))
        #expect(classify(Self.evidence(.client, .tooLarge)) == .final(.tooLarge))
        #expect(
            classify(Self.evidence(.dns, .resolveFailed, wire: false, resolve: .nameNotFound))
                == .retry(price: .free, atMost: 2))
    }

    @Test("A lost path costs nothing, except the certainty about a request that may have arrived")
    func lostPath() {
        let statuses = RetryPolicy().statuses
        for kind in [FailureClass.link, .connect, .transport, .timeout, .dns] {
            #expect(RetryClassifier.classify(Self.evidence(kind, .reset, lost: true), statuses: statuses) == .free)
        }
        #expect(
            RetryClassifier.classify(
                Self.evidence(.transport, .reset, idempotent: false, lost: true), statuses: statuses)
                == .forbidden(.outcomeUnknown))
    }

    @Test(
        "Statuses are tried again as the policy lists them",
        arguments: [
            (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true), (400, false),
            (401, false), (403, false), (404, false), (410, false), (501, false), (505, false),
        ])
    func statuses(_ row: (status: Int, isTried: Bool)) {
        let evidence = Self.evidence(.status, .httpStatus, status: row.status)
        let answer = RetryClassifier.classify(evidence, statuses: RetryPolicy().statuses)
        // These three say that the request was not carried out.
        let isRefusal = [408, 425, 429].contains(row.status)
        let price: RetryPrice = isRefusal ? .connect : .full
        #expect(answer == (row.isTried ? .retry(price: price, atMost: nil) : .final(.httpStatus)))
        let post = Self.evidence(.status, .httpStatus, status: row.status, idempotent: false)
        let decision = RetryClassifier.classify(post, statuses: RetryPolicy().statuses)
        let expected: RetryClassifier.Decision =
            if isRefusal { .retry(price: .connect, atMost: nil) } else if row.isTried { .forbidden(.httpStatus) } else {
                .final(.httpStatus)
            }
        #expect(decision == expected)
    }

    private static func delay(_ answer: RetryCounter.Answer) -> Duration? {
        if case .wait(let delay) = answer { delay } else { nil }
    }

    @Test("The delay doubles up to the cap, and chance takes anything below it")
    func backoff() throws {
        let policy = RetryPolicy(base: .milliseconds(500), cap: .seconds(3))
        let bounds = (1...5).map { Backoff.bound(afterFailure: $0, policy: policy) }
        #expect(bounds == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
        var chance = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let delay = Backoff.delay(afterFailure: 2, policy: policy, using: &chance)
            #expect(delay >= .zero && delay <= .seconds(1))
        }
    }

    @Test("An attempt with progress costs no retry and no budget, up to a thousand times, unless only one is allowed")
    func progress() throws {
        var counter = RetryCounter()
        var chance = SeededGenerator(seed: 3)
        // Enough for one retry that is paid for.
        var budget = RetryBudget(.init(tokens: 14, refillPerSecond: 0), at: MonotonicTime(nanoseconds: 0))
        func next(_ attempts: Int = 2) -> RetryCounter.Answer {
            let limits = RetryCounter.Limits(
                policy: RetryPolicy(attempts: attempts), atMost: nil, price: .full, asked: nil, active: .zero,
                untilDeadline: nil)
            return counter.next(limits, budget: &budget, at: MonotonicTime(nanoseconds: 0), using: &chance)
        }
        for round in 1...1000 {
            counter.charge(madeProgress: true)
            let delay = Self.delay(next())
            #expect(try #require(delay) <= .milliseconds(500))
            if round == 500 {
                counter.charge(madeProgress: false)
                #expect(try #require(Self.delay(next())) <= .milliseconds(500))
            }
        }
        #expect(next(1) == .stop(.limit))
        #expect(counter.free == 1000)
        #expect(counter.charged == 1001)
        counter.charge(madeProgress: true)
        #expect(next() == .stop(.limit))
    }

    @Test("A wait that the server asks for is not shortened, and not begun where it ends too late")
    func asked() throws {
        var counter = RetryCounter()
        counter.charge(madeProgress: false)
        var chance = SeededGenerator(seed: 3)
        var budget = RetryBudget(.init(), at: MonotonicTime(nanoseconds: 0))
        var room = RetryCounter.Limits(
            policy: .init(), atMost: nil, price: .connect, asked: .seconds(20), active: .zero,
            untilDeadline: nil)
        let now = MonotonicTime(nanoseconds: 0)
        func next() -> RetryCounter.Answer { counter.next(room, budget: &budget, at: now, using: &chance) }
        let delay = try #require(Self.delay(next()))
        #expect(delay >= .seconds(20) && delay <= .seconds(22))
        room.untilDeadline = .seconds(19)
        #expect(next() == .stop(.deadline))
        room.untilDeadline = nil
        room.active = .seconds(3590)
        #expect(next() == .stop(.deadline))
    }

    @Test("A server that asks for no wait at all still gets the usual one")
    func askedForNone() throws {
        var chance = SeededGenerator(seed: 3)
        var longest = Duration.zero
        for _ in 0..<50 {
            var counter = RetryCounter()
            counter.charge(madeProgress: false)
            var budget = RetryBudget(.init(), at: MonotonicTime(nanoseconds: 0))
            let room = RetryCounter.Limits(
                policy: .init(), atMost: nil, price: .connect, asked: .zero, active: .zero,
                untilDeadline: nil)
            let answer = counter.next(room, budget: &budget, at: MonotonicTime(nanoseconds: 0), using: &chance)
            longest = max(longest, try #require(Self.delay(answer)))
        }
        #expect(longest > .milliseconds(250) && longest <= .milliseconds(500))
    }

    @Test("An origin is good for thirty-five retries at once; time and successes earn more")
    func budget() {
        let start = MonotonicTime(nanoseconds: 0)
        var budget = RetryBudget(.init(), at: start)
        var paid = 0
        while budget.pay(.full, at: start) { paid += 1 }
        #expect(paid == 35)
        func pays(_ price: RetryPrice, after seconds: Int64) -> Bool {
            budget.pay(price, at: start + .seconds(seconds))
        }
        #expect(!pays(.full, after: 0))
        #expect(pays(.connect, after: 0))
        #expect(pays(.full, after: 14))
        for _ in 0..<14 { budget.succeeded(refunding: nil, at: start + .seconds(14)) }
        #expect(pays(.full, after: 14))
        budget.succeeded(refunding: .full, at: start + .seconds(14))
        #expect(pays(.full, after: 14))
        budget.succeeded(refunding: nil, at: start + .seconds(100_000))
        #expect(budget.tokens == 500)
    }
}
