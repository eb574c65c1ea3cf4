import Synchronization
import Testing
@testable import TidegateCore
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
        #expect(event.payload.topic == .session)
    }

    @Test("A wall clock that is set is noticed within a millisecond, and runs on until then")
    func setClock() {
        let time = TwoClocks()
        let bus = EventBus(time: time)
        let sink = RecordingSink()
        bus.attach(sink)
        for (nanoseconds, wall) in [(0, 5000), (999_999, 9000), (1_000_000, 9001), (1_002_000, 1), (2_000_000, 2)] {
            time.set(UInt64(nanoseconds), Int64(wall))
            bus.publish(.netlink(.overrun))
        }
        #expect(sink.events.map(\.time.microseconds) == [5000, 5999, 9001, 9003, 2])
        #expect(sink.events.map(\.moment.nanoseconds) == [0, 999_999, 1_000_000, 1_002_000, 2_000_000])
    }

    @Test("A slow subscriber keeps the newest events, and what it lost is counted")
    func boundedSubscription() async throws {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.watch, bufferingNewest: 4)
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
        let subscription = bus.subscribe(.library) { $0.payload.topic == .session }
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
        let subscription = bus.subscribe(.sse, bufferingNewest: 3)
        #expect(!subscription.hasWaiting)
        for _ in 0..<5 { bus.publish(.netlink(.overrun)) }
        #expect(subscription.hasWaiting)
        #expect(subscription.takeWaiting().map(\.sequence) == [3, 4, 5])
        #expect(subscription.takeWaiting().isEmpty)
    }

    @Test("A sink receives every payload unchanged")
    func roundTrip() throws {
        let bus = EventBus(time: ManualTime())
        let sink = RecordingSink()
        bus.attach(sink)
        let payloads = EveryEvent.payloads
        for payload in payloads { bus.publish(payload) }
        #expect(sink.events.count == payloads.count)
        for (event, payload) in zip(sink.events, payloads) {
            #expect(Self.dumped(event.payload) == Self.dumped(payload))
        }
    }

    // Everything that a value holds, behind references too.
    private static func dumped(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    @Test("A ring keeps its order through laps, however publishing and reading alternate", arguments: 1...5)
    func laps(_ capacity: Int) async {
        let bus = EventBus(time: ManualTime())
        let subscription = bus.subscribe(.library, bufferingNewest: capacity)
        var reader = subscription.makeAsyncIterator()
        var (kept, dropped): ([UInt64], UInt64) = ([], 0)
        var last: UInt64 = 0
        for round in 0..<200 {
            for _ in 0..<(round * 7 % 4) {
                bus.publish(.netlink(.overrun))
                last += 1
                kept.append(last)
                if kept.count > capacity {
                    kept.removeFirst()
                    dropped += 1
                }
            }
            for _ in 0..<min(kept.count, round * 5 % 3) {
                #expect(await reader.next()?.sequence == kept.removeFirst())
            }
            #expect(bus.statistics()[.library]?.queued == kept.count)
            #expect(subscription.dropped == dropped)
        }
        #expect(subscription.takeWaiting().map(\.sequence) == kept)
    }

    @Test("A cancelled subscription gets nothing more, and the others are not affected")
    func leaving() {
        let bus = EventBus(time: ManualTime())
        let sinks = [RecordingSink(), RecordingSink(), RecordingSink()]
        for sink in sinks { bus.attach(sink) }
        let subscriptions = (0..<4).map { _ in bus.subscribe(.watch) }
        bus.publish(.netlink(.overrun))
        subscriptions[1].cancel()
        subscriptions[1].cancel()
        bus.publish(.netlink(.overrun))
        #expect(subscriptions.map { $0.takeWaiting().map(\.sequence) } == [[1, 2], [1], [1, 2], [1, 2]])
        #expect(sinks.allSatisfy { $0.events.map(\.sequence) == [1, 2] })
        #expect(bus.statistics()[.watch]?.capacity == 3 * 256)
    }
}

/// Clocks that are set one by one.
private final class TwoClocks: TimeSource {
    private let now = Mutex((monotonic: MonotonicTime(nanoseconds: 0), wall: WallTime(microseconds: 0)))

    func set(_ nanoseconds: UInt64, _ microseconds: Int64) {
        self.now.withLock {
            $0 = (MonotonicTime(nanoseconds: nanoseconds), WallTime(microseconds: microseconds))
        }
    }

    func monotonic() -> MonotonicTime { self.now.withLock { $0.monotonic } }

    func wall() -> WallTime { self.now.withLock { $0.wall } }
}
