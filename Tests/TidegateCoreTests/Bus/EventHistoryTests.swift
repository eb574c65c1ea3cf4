import Testing
@testable import TidegateCore
import TidegateTestKit

@Suite struct EventHistoryTests {
    private let time = ManualTime()

    private func history(_ capacity: Int, events: Int = 0) -> (EventBus, EventHistory) {
        let bus = EventBus(time: self.time)
        let history = EventHistory(boot: "b7", capacity: capacity)
        bus.attach(history)
        for _ in 0..<events { bus.publish(.netlink(.overrun)) }
        return (bus, history)
    }

    private func sequences(_ follower: EventHistory.Reader) async -> (numbers: [UInt64], dropped: UInt64) {
        let next = await follower.next()
        return (next?.events.map(\.sequence) ?? [], next?.dropped ?? 0)
    }

    @Test("The newest events are kept, whatever the capacity and the number", arguments: [1, 2, 7, 4096])
    func newest(_ capacity: Int) {
        for count in [0, 1, capacity - 1, capacity, capacity + 1, 3 * capacity + 2] {
            let (_, history) = self.history(capacity, events: count)
            let first = max(0, count - capacity) + 1
            let expected = first <= count ? (first...count).map { UInt64($0) } : []
            #expect(history.newest(10_000).map(\.sequence) == expected)
            #expect(history.newest(3).map(\.sequence) == expected.suffix(3))
            #expect(
                history.newest(2) { $0.sequence % 2 == 0 }.map(\.sequence) == expected.filter { $0 % 2 == 0 }.suffix(2))
        }
    }

    @Test("Events that are only counted do not displace the others")
    func measures() {
        let (bus, history) = self.history(4096)
        for payload in EveryEvent.payloads { bus.publish(payload) }
        for event in history.newest(4096) {
            let name = event.name
            #expect(
                ![
                    "task.progress", "netlink.received", "netlink.lookedUp", "netlink.receiveBuffer",
                    "daemon.requestAnswered", "daemon.journalCommitted",
                ].contains(name))
        }
        let names = Set(history.newest(4096).map(\.name))
        #expect(names.isSuperset(of: ["path.changed", "link.changed", "task.completed", "daemon.stopping"]))
        #expect(names.isSuperset(of: ["netlink.overrun", "session.invalidated", "task.created"]))
    }

    @Test(
        "An id is known as long as its event is kept",
        arguments: [
            ("b7-3", false), ("b7-6", true), ("b7-10", true), ("b7-11", false), ("b7-0", false), ("b7-", false),
            ("b7-x", false), ("b7-+7", false), ("a1-7", false), ("", false), ("7", false),
            ("b7-99999999999999999999999", false),
        ])
    func resumed(_ id: String, _ isKnown: Bool) async {
        let (_, history) = self.history(5, events: 10)
        let follower = history.follow(after: id)
        #expect(follower.isResumed == isKnown)
        #expect(follower.lastID == "b7-10")
        if id == "b7-6" { #expect(await self.sequences(follower).numbers == [7, 8, 9, 10]) }
    }

    @Test("The beginning can be resumed from while the history has it")
    func beginning() async {
        let (bus, history) = self.history(5)
        #expect(history.follow().lastID == "b7-0")
        bus.publish(.netlink(.overrun))
        let follower = history.follow(after: "b7-0")
        #expect(follower.isResumed)
        #expect(await self.sequences(follower).numbers == [1])
    }

    @Test("A resumed past may be longer than the bound, and comes whole")
    func longPast() async {
        let (bus, history) = self.history(4096, events: 1000)
        let follower = history.follow(after: "b7-1", bufferingNewest: 8)
        for _ in 0..<8 { bus.publish(.netlink(.overrun)) }
        var numbers: [UInt64] = []
        while numbers.count < 1007 { numbers += await self.sequences(follower).numbers }
        #expect(numbers == (2...1008).map { UInt64($0) })
        #expect(history.statistics == SubscriberStatistics(queued: 0, capacity: 8, dropped: 0))
    }

    @Test("A slow follower keeps the newest, and what it lost is counted")
    func slow() async {
        let (bus, history) = self.history(4096)
        let follower = history.follow(bufferingNewest: 4)
        for _ in 0..<10 { bus.publish(.netlink(.overrun)) }
        #expect(history.statistics == SubscriberStatistics(queued: 4, capacity: 4, dropped: 6))
        let next = await self.sequences(follower)
        #expect(next.dropped == 6)
        #expect(next.numbers == [7, 8, 9, 10])
        follower.end()
        #expect(await follower.next() == nil)
        #expect(history.statistics == SubscriberStatistics(dropped: 6))
    }

    @Test("What the ring overwrites before it is read counts as lost")
    func overtaken() async {
        let (bus, history) = self.history(4, events: 4)
        let follower = history.follow(after: "b7-1", bufferingNewest: 256)
        for _ in 0..<5 { bus.publish(.netlink(.overrun)) }
        let next = await self.sequences(follower)
        #expect(next.dropped == 4)
        #expect(next.numbers == [6, 7, 8, 9])
    }

    @Test("A waiting follower gets the next event, can be woken, and ends with its task")
    func waiting() async {
        let (bus, history) = self.history(16)
        let follower = history.follow()
        let reader = Task { await self.sequences(follower).numbers }
        bus.publish(.netlink(.overrun))
        #expect(await reader.value == [1])
        // A wake that comes before the reader waits has no effect.
        let isOver = Latch()
        let waker = Task {
            while !isOver.isOpen {
                follower.wake()
                await Task.yield()
            }
        }
        #expect(await follower.next()?.isEmpty == true)
        isOver.open()
        await waker.value
        let cancelled = Task { await follower.next() == nil }
        cancelled.cancel()
        #expect(await cancelled.value)
    }

    @Test("Followers that come and go while many threads publish hear everything once, in the history's order")
    func noGapNoRepeat() async {
        let (bus, history) = self.history(40_000)
        let received = await withTaskGroup(of: [UInt64].self) { group in
            group.addTask {
                var (received, last): ([UInt64], String) = ([], "b7-0")
                while received.count < 20_000 {
                    let follower = history.follow(after: last, bufferingNewest: 40_000)
                    guard follower.isResumed, let next = await follower.next() else { return received }
                    received += next.events.map(\.sequence)
                    if let event = next.events.last { last = history.id(of: event) }
                }
                return received
            }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<5000 { bus.publish(.netlink(.overrun)) }
                    return []
                }
            }
            return await group.reduce([]) { $0 + $1 }
        }
        #expect(received == history.newest(40_000).map(\.sequence))
        #expect(Set(received) == Set(1...20_000))
    }
}
