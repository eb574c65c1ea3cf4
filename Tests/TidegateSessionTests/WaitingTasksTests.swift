import Testing

@testable import TidegateSession

@Suite
struct WaitingTasksTests {
    @Test("Tasks leave in the order in which they came, and one that comes back goes last")
    func order() {
        var waiting = WaitingTasks()
        for task: UInt64 in [3, 1, 2, 1] { waiting.append(task) }
        #expect(waiting.all == [3, 1, 2] && waiting.count == 3)
        waiting.remove(3)
        waiting.remove(9)
        #expect(waiting.first == 1)
        waiting.append(3)
        #expect(waiting.all == [1, 2, 3])
        let first = waiting.popFirst()
        #expect(first == 1 && waiting.count == 2)
        let rest = waiting.removeAll()
        #expect(rest == [2, 3] && waiting.isEmpty && waiting.first == nil)
        let none = waiting.popFirst()
        #expect(none == nil)
    }

    @Test("A hundred thousand tasks leave from either end, and none is searched for", .timeLimit(.minutes(1)))
    func many() {
        var waiting = WaitingTasks()
        let count: UInt64 = 100_000
        for task in 0..<count { waiting.append(task) }
        // From the end, where a search from the front would take longest.
        for task in (0..<count).reversed() where task % 2 == 0 { waiting.remove(task) }
        #expect(waiting.count == 50_000 && waiting.first == 1)
        var order: [UInt64] = []
        while let task = waiting.popFirst() { order.append(task) }
        #expect(order == (0..<count).filter { $0 % 2 == 1 })
    }
}
