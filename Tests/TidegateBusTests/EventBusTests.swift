import Testing
import TidegateBus
import TidegateModel
import TidegateTestKit

@Suite struct EventBusTests {
    @Test("A sink hears every event of every thread, each with its own number")
    func sinksMissNothing() async {
        let bus = EventBus(time: ManualTime())
        let sink = RecordingSink()
        bus.attach(sink)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<5000 { bus.publish(.netlink(.overrun)) } }
            }
        }
        let numbers = sink.events.map(\.sequence)
        #expect(numbers.count == 40_000)
        #expect(Set(numbers) == Set(1...40_000))
    }

    @Test("Events carry both clocks")
    func clocks() throws {
        let time = ManualTime()
        let bus = EventBus(time: time)
        let sink = RecordingSink()
        bus.attach(sink)
        time.advance(by: .seconds(3))
        bus.publish(.session(.invalidated))
        let event = try #require(sink.events.first)
        #expect(event.time == time.wall())
        #expect(event.moment == time.monotonic())
        #expect(event.occurrence.topic == .session)
    }

    @Test("A slow subscriber keeps the newest events, and what it lost is counted")
    func boundedSubscription() async throws {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.watch, keepingNewest: 4)
        for _ in 0..<10 { bus.publish(.netlink(.overrun)) }
        #expect(subscription.dropped == 6)
        #expect(bus.statistics()[.watch] == SubscriberStatistics(queued: 4, capacity: 4, dropped: 6))
        subscription.cancel()
        var kept: [UInt64] = []
        for await event in subscription { kept.append(event.sequence) }
        #expect(kept == [7, 8, 9, 10])
        #expect(bus.statistics()[.watch] == SubscriberStatistics(dropped: 6))
    }

    @Test("A waiting reader gets the next event it wants, in order")
    func waitingReader() async {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.library) { $0.occurrence.topic == .session }
        let reader = Task {
            var numbers: [UInt64] = []
            for await event in subscription {
                numbers.append(event.sequence)
                if numbers.count == 100 { break }
            }
            return numbers
        }
        for _ in 0..<100 {
            bus.publish(.netlink(.overrun))
            bus.publish(.session(.invalidated))
        }
        #expect(await reader.value == (1...100).map { UInt64($0 * 2) })
        #expect(subscription.dropped == 0)
    }

    @Test("Cancelling the reading task ends the subscription")
    func cancelledReader() async {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.log)
        let reader = Task { for await _ in subscription {} }
        reader.cancel()
        await reader.value
        bus.publish(.netlink(.overrun))
        #expect(bus.statistics()[.log]?.queued == 0)
    }

    @Test("What waits can be taken at once")
    func takeWaiting() {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.sse, keepingNewest: 3)
        #expect(!subscription.hasWaiting)
        for _ in 0..<5 { bus.publish(.netlink(.overrun)) }
        #expect(subscription.hasWaiting)
        #expect(subscription.takeWaiting().map(\.sequence) == [3, 4, 5])
        #expect(subscription.takeWaiting().isEmpty)
    }
}
