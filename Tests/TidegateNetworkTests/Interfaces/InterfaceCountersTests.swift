import Testing
import TidegateTestKit

@testable import TidegateNetwork

@Suite struct InterfaceCountersTests {
    private static let file = """
        Inter-|   Receive                                                |  Transmit
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
            lo:   84000     100    0    0    0     0          0         0    84000     100    0    0    0     0       0          0
          eth0: 1907346    4150    7    2    0     5          0         0   222333    1950    1    0    0     0       3          0
        eth0.7:      12       1    0    0    0     0          0         0       34       1    0    0    0     0       0          0
        short: 1 2 3
        """

    @Test("The counters of an interface are in its line of /proc/net/dev; dropped packets are no errors")
    func parsing() throws {
        let bytes = try #require(InterfaceCounters(of: "eth0", in: Self.file))
        #expect(bytes.received == 1_907_346 && bytes.sent == 222_333 && bytes.errors == 10)
        #expect(bytes.packets == 6100)
        #expect(InterfaceCounters(of: "eth0.7", in: Self.file)?.sent == 34)
        #expect(InterfaceCounters(of: "eth", in: Self.file) == nil)
        #expect(InterfaceCounters(of: "short", in: Self.file) == nil)
    }

    @Test("The busier direction counts")
    func most() throws {
        let before = try #require(InterfaceCounters(of: "eth0", in: Self.file))
        var after = before
        after.received += 10
        after.sent += 4000
        #expect(after.most(since: before) == 4000)
    }

    @Test("The kernel's own file has the loopback interface")
    func live() {
        #expect(InterfaceCounters(of: "lo") != nil)
        #expect(InterfaceCounters(of: "none") == nil)
    }
}
