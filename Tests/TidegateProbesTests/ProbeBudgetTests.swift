import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateProbes

/// What probes share is never exceeded, and goes to those that came first.
@Suite(.timeLimit(.minutes(5)))
struct ProbeBudgetTests {
    /// Who was called, in order.
    private final class Calls: Sendable {
        private let list = Mutex<[String]>([])

        var all: [String] { self.list.withLock { $0 } }

        func note(_ name: String) -> @Sendable () -> Void {
            { self.list.withLock { $0.append(name) } }
        }
    }

    @Test("A later share takes nothing that an earlier one may still need, and waits until that has finished")
    func waiting() {
        let (budget, calls) = (ProbeBudget(limit: 10), Calls())
        let (first, second) = (budget.open(most: 8), budget.open(most: 8))
        #expect(budget.take(2, for: second, resume: calls.note("second")))
        #expect(!budget.take(1, for: second, resume: calls.note("second")))
        #expect(budget.take(8, for: first, resume: calls.note("first")))
        #expect(budget.held == 10)
        budget.close(first)
        #expect(calls.all == ["second"] && budget.held == 3)
        budget.close(second)
        #expect(budget.held == 0)
    }

    @Test("What a complete body does not need is free for others at once")
    func settled() {
        let (budget, calls) = (ProbeBudget(limit: 10), Calls())
        let (first, second) = (budget.open(most: 10), budget.open(most: 10))
        #expect(budget.take(4, for: first, resume: calls.note("first")))
        #expect(!budget.take(6, for: second, resume: calls.note("second")))
        budget.settle(first)
        #expect(calls.all == ["second"] && budget.held == 10)
    }

    @Test("Those that wait are served in the order in which they came")
    func order() {
        let (budget, calls) = (ProbeBudget(limit: 1), Calls())
        let shares = (0..<4).map { _ in budget.open(most: 1) }
        #expect(budget.take(1, for: shares[0], resume: calls.note("0")))
        for number in [3, 1, 2] { #expect(!budget.take(1, for: shares[number], resume: calls.note("\(number)"))) }
        for share in shares {
            #expect(budget.held == 1)
            budget.close(share)
        }
        #expect(calls.all == ["1", "2", "3"] && budget.held == 0)
    }

    @Test("One that is closed while it waits is not called, and holds up no other")
    func closedWhileWaiting() {
        let (budget, calls) = (ProbeBudget(limit: 1), Calls())
        let shares = (0..<3).map { _ in budget.open(most: 1) }
        #expect(budget.take(1, for: shares[0], resume: calls.note("0")))
        for number in [1, 2] { #expect(!budget.take(1, for: shares[number], resume: calls.note("\(number)"))) }
        budget.close(shares[1])
        budget.close(shares[0])
        #expect(calls.all == ["2"])
    }

    @Test("A wait ends with its time, or with the share that was in its way")
    func limited() async {
        let budget = ProbeBudget(limit: 1)
        let (first, second) = (budget.open(most: 1), budget.open(most: 1))
        let isFirst = await budget.take(1, for: first, within: .seconds(1)) { _, _ in }
        let isLate = await budget.take(1, for: second, within: .seconds(1)) { _, expire in expire() }
        let isGivenBack = await budget.take(1, for: second, within: .seconds(1)) { _, _ in budget.close(first) }
        #expect(isFirst && !isLate && isGivenBack)
        #expect(budget.held == 1)
    }

    @Test(
        "However bodies grow, they never hold more than the budget, and all become complete",
        arguments: 1...20 as ClosedRange<UInt64>)
    func growth(_ seed: UInt64) {
        struct Body {
            let share: UInt64
            let size: Int
            var held = 0
            var isWaiting = false
        }
        var chance = SeededGenerator(seed: seed)
        let budget = ProbeBudget(limit: 100)
        let resumed = Mutex<Set<UInt64>>([])
        var bodies: [Body] = (0..<50).map { _ in
            let most = Int.random(in: 1...100, using: &chance)
            return Body(share: budget.open(most: most), size: Int.random(in: 1...most, using: &chance))
        }
        var steps = 0
        while !bodies.isEmpty {
            for share in resumed.withLock({ set in
                defer { set = [] }; return set
            }) {
                for place in bodies.indices where bodies[place].share == share {
                    bodies[place].held += 1
                    bodies[place].isWaiting = false
                }
            }
            let active = bodies.indices.filter { !bodies[$0].isWaiting }
            // That one at least goes on is what the rule is for.
            guard let place = active.randomElement(using: &chance) else {
                Issue.record("every body waits for another one")
                return
            }
            let share = bodies[place].share
            if bodies[place].held == bodies[place].size {
                bodies.remove(at: place)
                budget.close(share)
            } else if budget.take(1, for: share, resume: { resumed.withLock { _ = $0.insert(share) } }) {
                bodies[place].held += 1
            } else {
                bodies[place].isWaiting = true
            }
            #expect(budget.held <= 100)
            steps += 1
        }
        #expect(steps > 50 && budget.held == 0)
    }
}
