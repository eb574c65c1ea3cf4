import Testing
import TidegateLoop
import TidegateCore

@Suite struct TimerHeapTests {
    private func moment(_ nanoseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

    @Test("Timers fire in the order of their deadlines, equal ones in the order scheduled")
    func order() {
        var heap = TimerHeap()
        for (token, deadline) in [(1, 30), (2, 10), (3, 20), (4, 10)] as [(UInt64, UInt64)] {
            _ = heap.schedule(at: self.moment(deadline), token: token)
        }
        var fired: [UInt64] = []
        while let token = heap.popDue(at: self.moment(25)) { fired.append(token) }
        #expect(fired == [2, 4, 3])
        #expect(heap.nextDeadline() == self.moment(30))
    }

    @Test("A cancelled timer never fires, and its memory goes")
    func cancelling() {
        var heap = TimerHeap()
        let timers = (0..<10_000).map { heap.schedule(at: self.moment(UInt64(10_000 - $0)), token: UInt64($0)) }
        for timer in timers.dropLast() { heap.cancel(timer) }
        #expect(heap.count == 1)
        #expect(heap.popDue(at: self.moment(20_000)) == 9999)
        #expect(heap.popDue(at: self.moment(20_000)) == nil)
        #expect(heap.nextDeadline() == nil)
    }

    @Test("Any mix of scheduling, cancelling and firing keeps the order of a sorted list")
    func againstList() {
        var generator = SplitMix(state: 42)
        var heap = TimerHeap()
        var list: [(deadline: UInt64, id: TimerID, token: UInt64)] = []
        var now: UInt64 = 0
        for token in 0..<5000 as Range<UInt64> {
            switch generator.next() % 3 {
            case 0, 1:
                let deadline = now + generator.next() % 1000
                list.append((deadline, heap.schedule(at: self.moment(deadline), token: token), token))
            default:
                if let cancelled = list.indices.randomElement(using: &generator) {
                    heap.cancel(list.remove(at: cancelled).id)
                }
            }
            now += generator.next() % 20
            while let fired = heap.popDue(at: self.moment(now)) {
                let earliest = list.indices.min { list[$0].deadline < list[$1].deadline }
                #expect(earliest.map { list.remove(at: $0).token } == fired)
            }
            #expect(heap.count == list.count)
        }
    }
}

/// A small generator with a seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
