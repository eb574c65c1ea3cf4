import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct FairQueueTests {
    private let attacker = PeerAddress(ip: IPAddress("10.0.0.66"))
    private let scraper = PeerAddress(ip: IPAddress("10.0.0.9"))

    @Test("Every peer has its turn, whatever waits before it")
    func turns() {
        var queue = FairQueue<Int>(limit: 10, limitOfPeer: 10)
        for number in 0..<5 { _ = queue.add(number, for: self.attacker) }
        for number in 10..<12 { _ = queue.add(number, for: self.scraper) }
        var order: [Int] = []
        while let next = queue.next() { order.append(next) }
        #expect(order == [0, 10, 1, 11, 2, 3, 4])
        #expect(queue.count == 0)
    }

    @Test("In a full queue the longest line loses its last element to a shorter one")
    func full() {
        var queue = FairQueue<Int>(limit: 4, limitOfPeer: 4)
        for number in 0..<4 { _ = queue.add(number, for: self.attacker) }
        let more = queue.add(4, for: self.attacker)
        #expect(more == 4)
        let dropped = [10, 11, 12].map { queue.add($0, for: self.scraper) }
        #expect(dropped == [3, 2, 12])
        #expect(queue.count == 4)
    }

    @Test("One peer has no more than its part of the queue")
    func part() {
        var queue = FairQueue<Int>(limit: 4, limitOfPeer: 2)
        let dropped = (0..<3).map { queue.add($0, for: self.attacker) }
        #expect(dropped == [nil, nil, 2] && queue.count == 2)
    }

    @Test(
        "A preferred peer has the turn after the next, in a queue full of other peers, too, and takes the last one's place"
    )
    func preferred() {
        var queue = FairQueue<Int>(limit: 3, limitOfPeer: 2)
        for number in 0..<3 { _ = queue.add(number, for: PeerAddress(ip: IPAddress(ipv4: UInt32(number)))) }
        let other = queue.add(3, for: self.attacker)
        #expect(other == 3)
        let dropped = queue.add(9, for: self.scraper, isPreferred: true)
        #expect(dropped == 2)
        var order: [Int] = []
        while let next = queue.next() { order.append(next) }
        #expect(order == [0, 9, 1])
    }
}

@Suite struct PeerBucketsTests {
    @Test("A peer that uses its rate up leaves the others theirs, also when there are more peers than buckets")
    func peers() {
        let now = MonotonicTime(nanoseconds: 0)
        var buckets = PeerBuckets(RateLimit(interval: .seconds(1), burst: 1))
        for number in 0..<UInt32(PeerBuckets.maxPeers) {
            let wait = buckets.take(for: PeerAddress(ip: IPAddress(ipv4: number)), at: now)
            #expect(wait == nil)
        }
        let repeated = buckets.take(for: PeerAddress(ip: IPAddress(ipv4: 7)), at: now)
        #expect(repeated == .seconds(1))
        let shared = (0..<2).map { buckets.take(for: PeerAddress(ip: IPAddress(ipv4: 1 << 24 + $0)), at: now) }
        #expect(shared == [nil, .seconds(1)])
        let later = buckets.take(for: PeerAddress(ip: IPAddress(ipv4: 1 << 25)), at: now + .seconds(2))
        #expect(later == nil)
    }
}
