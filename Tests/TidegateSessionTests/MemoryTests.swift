import Synchronization
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// What a session that runs for months may not gather.
@Suite
struct MemoryTests {
    private static func task(_ number: UInt64, _ request: TaskRequest) -> TransferTask {
        var chance = SeededGenerator(seed: number)
        let wall = WallTime(microseconds: 0)
        let id = TaskID(at: wall, using: &chance)
        return TransferTask(
            id: id, number: number, request: request, shared: PublishedTaskState(url: request.url, created: wall),
            controller: Mailbox(events: SessionEvents(time: ManualTime())))
    }

    private static func add(_ request: TaskRequest, to registry: TaskRegistry) throws -> TransferTask {
        let task = Self.task(try #require(registry.reserve()), request)
        #expect(registry.add(task))
        return task
    }

    private static func end(_ bytes: [Int], keeping kept: Int) throws -> [UInt64] {
        let registry = TaskRegistry(keepingEnded: kept)
        let request = try TaskRequest(url: "http://never.test/")
        for count in bytes {
            let task = try Self.add(request, to: registry)
            _ = registry.end(task, holding: count)
        }
        return registry.all.map(\.number)
    }

    @Test("Tasks that ended lately hold no more than 16 MiB of bodies; the oldest go first, those without stay")
    func bodies() throws {
        let half = TaskRegistry.bodyLimit / 2
        #expect(try Self.end([half, half], keeping: 256) == [1, 2])
        #expect(try Self.end([half, 0, half, 1], keeping: 256) == [2, 3, 4])
        #expect(try Self.end([1, 2, 3, 4, 5], keeping: 3) == [3, 4, 5])
        #expect(try Self.end([0, half, half, 0, half], keeping: 3) == [3, 4, 5])
        #expect(try Self.end([half, half, half, half, half], keeping: 3) == [4, 5])
        #expect(try Self.end([2 * half + 1], keeping: 3) == [])
    }

    @Test("Bytes for observers wait up to a bound, and bytes that no observer needs are not kept")
    func observedBytes() {
        let piece = [UInt8](repeating: 1, count: 64 << 10)
        let notices = Mutex(0)
        func observer(_ limit: Int) -> BodyObserver {
            BodyObserver(digest: nil, limit: limit) { notices.withLock { $0 += 1 } }
        }
        let all = observer(.max)
        for round in 1...3 {
            var count = 0
            while all.hasRoom() {
                all.write(piece)
                count += 1
            }
            #expect(count == BodyObserver.room / piece.count)
            #expect(all.takeAll().count == count)
            #expect(notices.withLock { $0 } == round)
        }
        let first = observer(100 << 10)
        for _ in 0..<1000 {
            #expect(first.hasRoom())
            first.write(piece)
        }
        #expect(first.takeAll().count == 2)
        for _ in 0..<1000 { first.write(piece) }
        #expect(first.hasRoom() && first.takeAll().isEmpty)
    }

    @Test("A task is ended once, by the first call")
    func onceOver() throws {
        let registry = TaskRegistry(keepingEnded: 1)
        let request = try TaskRequest(url: "http://never.test/")
        let task = try Self.add(request, to: registry)
        let (first, second) = (registry.end(task), registry.end(task))
        #expect(first != nil && second == nil)
        #expect(registry.endAll().isEmpty)
    }

    private static func origin(_ number: Int) throws -> Origin {
        try HTTPURL("http://host\(number).test/").origin
    }

    @Test("Origins are forgotten once what is known of them means nothing, and only then")
    func origins() throws {
        var table = OriginTable<Int>(least: 8)
        var looks = 0
        for number in 0..<1000 {
            table.forget {
                looks += 1
                return $0 % 2 == 1
            }
            table[try Self.origin(number)] = number
        }
        for number in stride(from: 0, to: 1000, by: 2) { #expect(table[try Self.origin(number)] == number) }
        #expect(table.values.count < 800)
        // It looks only where it has doubled: no more than a few times at each.
        #expect(looks < 4000)
    }

    @Test("A budget is as good as a new one once it is full again")
    func budgets() {
        let start = MonotonicTime(nanoseconds: 0)
        var budget = RetryBudget(.init(), at: start)
        #expect(budget.isFull(at: start))
        let isPaid = budget.pay(.full, at: start)
        #expect(isPaid)
        #expect(!budget.isFull(at: start))
        #expect(budget.isFull(at: start + .seconds(1000)))
    }
}
